import WakeFetch
import WakeModel
import WakeSystem

/// What a gateway does with an encapsulated registration.
enum ObliviousPaths {
    private static let count = 10

    static var all: [HotPath] {
        get throws {
            let secret = FixedBytes.make(32, seed: 5)
            let key = ObliviousKey(id: 1, secret: secret.span, ciphers: [.chaCha20Poly1305])
            let ring = ObliviousKeyRing([key])
            var writer = BinaryMessageWriter(
                method: "PUT", scheme: "https", authority: Array("wake.example.org".utf8),
                path: "/v1/registration", capacity: Limits.obliviousRequestBytes)
            let token = Array(("Bearer " + String(repeating: "A", count: 43)).utf8)
            writer.add("authorization", token.span)
            let body = [UInt8](repeating: 0x20, count: Limits.paddedBodyBytes)
            guard
                let message = writer.finish(
                    content: body.span, paddedTo: Limits.obliviousRequestBytes),
                let request = ObliviousRequest(
                    message, to: key.configuration, cipher: .chaCha20Poly1305)
            else { throw WrongResult() }
            return [
                HotPath(name: "oblivious-request", count: count) {
                    for _ in 0..<count { try answer(request.bytes, ring) }
                }
            ]
        }
    }

    private static func answer(_ request: [UInt8], _ ring: ObliviousKeyRing) throws {
        guard case .success(let opened) = ring.open(request.span),
            (try? BinaryMessage(opened.message.bytes)) != nil
        else { throw WrongResult() }
        var answer = BinaryMessageWriter(status: 204, capacity: Limits.obliviousAnswerBytes)
        let nothing: [UInt8] = []
        let padded = answer.finish(
            content: nothing.span,
            paddedTo: Limits.obliviousAnswerBytes - opened.response.overhead)
        guard let padded, opened.response.seal(padded) != nil else { throw WrongResult() }
    }
}
