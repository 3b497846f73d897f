import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFetch

@Suite("Endpoints and addresses that may be fetched")
struct EndpointURLTests {
    @Test("every endpoint that is taken can be fetched, at the host that was checked")
    func agreement() throws {
        let seeds = [
            "https://push.example.org/x", "https://push.example.org:443/a/b.c?d=%2e&e=f",
            "https://xn--mnchen-3ya.de/..x/.y/...", "https://a-b.c3/~!$&'()*+,;=:@",
        ].map { Array($0.utf8) }
        let alphabet = Array("/.:?#%@[]\\\\-_~2eExX0179ab&= ".utf8)
        var random = SplitMix64(seed: 5)
        var taken = 0
        for round in 0..<200_000 {
            var text = seeds[round % seeds.count]
            for _ in 0...(round % 3) {
                let place = Int.random(in: 7..<text.count, using: &random)
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                default: text.remove(at: place)
                }
            }
            guard let endpoint = PushEndpoint(text.span) else { continue }
            taken += 1
            let url = try FetchURL(text)
            #expect(url.scheme == .https)
            #expect(url.port == 443)
            #expect(url.reach == .network)
            let host = text[endpoint.host].map { (65...90).contains($0) ? $0 | 0x20 : $0 }
            #expect(url.bytes.dropFirst(8).starts(with: host + [UInt8(ascii: "/")]))
            #expect(FetchURL.isName(host[...]))
        }
        #expect(taken > 20_000)
    }
}
