import Foundation
import TestSupport
import Testing
import WakeFetch
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

@Suite("What is configured of a relay")
struct RelayConfigurationTests {
    private func fault(_ section: [String: String]) -> GatewaySectionFault? {
        do throws(GatewaySectionFault) {
            _ = try RelayConfiguration(section: section)
            return nil
        } catch {
            return error
        }
    }

    @Test("an address without a path, and a key, are a relay")
    func whole() throws {
        for (via, authority) in [
            ("https://wake.example.org", "wake.example.org"),
            ("https://wake.example.org/", "wake.example.org"),
            ("https://Wake.Example.org:443", "wake.example.org"),
            ("https://wake.example.org:8443/", "wake.example.org:8443"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"), ("http://localhost", "localhost"),
            ("http://[::1]:81/", "[::1]:81"),
        ] {
            let section = ["via": via, "via-key": "/k", "ca": "/ca.pem"]
            let configuration = try #require(try RelayConfiguration(section: section))
            #expect(String(decoding: configuration.authority, as: UTF8.self) == authority)
            #expect(configuration.address.hasSuffix("://\(authority)"))
            #expect(configuration.authorityFile == "/ca.pem" && configuration.key == "/k")
            #expect(configuration.perMinute == 60_000)
        }
    }

    @Test("a section without a relay is none")
    func none() throws {
        #expect(try RelayConfiguration(section: [:]) == nil)
        #expect(try RelayConfiguration(section: ["key": "/k", "ca": "/c"]) == nil)
    }

    @Test(
        "other addresses are refused",
        arguments: [
            "", "wake.example.org", "http://wake.example.org", "https://wake.example.org/path",
            "https://wake.example.org/?q", "https://wake.example.org?q",
            "https://u@wake.example.org",
            "https://wake.example.org//", "https://wake.example.org/#f", "ftp://wake.example.org",
            "https://\(String(repeating: "a", count: 56)).onion", "http://127.1",
        ])
    func addresses(_ via: String) {
        #expect(fault(["via": via, "via-key": "/k"]) == .badValue("via"))
    }

    @Test("a relay and credentials of one's own do not go together")
    func together() {
        let whole = ["via": "https://wake.example.org", "via-key": "/k"]
        for key in ["key", "key-id", "team-id", "topic", "host", "port", "plain", "connections"] {
            let section = whole.merging([key: "1"]) { $1 }
            #expect(fault(section) == .notWithVia(key))
        }
        #expect(fault(["via-key": "/k"]) == .missing("via"))
        #expect(fault(["via-per-minute": "600", "key": "/k"]) == .missing("via"))
        for number in ["0", "599", "x", "60000001", "-1"] {
            #expect(
                fault(whole.merging(["via-per-minute": number]) { $1 })
                    == .badValue("via-per-minute"))
        }
        #expect(fault(["via": "https://wake.example.org"]) == .missing("via-key"))
        func message(_ fault: GatewaySectionFault, _ section: String) -> String {
            fault.message(section: section, words: RelayConfiguration.words)
        }
        #expect(
            message(.notWithVia("topic"), "apns") == "[apns] has both via and topic\n"
                + "hint: remove topic to go through the relay, or via to push directly")
        #expect(
            message(.missing("via-key"), "fcm").hasPrefix(
                "[fcm] lacks via-key\nhint: set via-key to the path of a file made by"))
    }

    private func key(_ text: String, mode: Int = 0o600) throws -> Result<RelayKey, RelayKeyError> {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/relay.key"
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        do throws(RelayKeyError) {
            return .success(try RelayKey(file: path))
        } catch {
            return .failure(error)
        }
    }

    @Test("a key file is the seed in base64url, private, and nothing else")
    func keyFile() throws {
        // RFC 8032 §7.1, TEST 1.
        let seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
        let read = try key(seed + "\n").get()
        #expect(read.publicText == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
        #expect("\(read)" == "(RelayKey)")
        #expect(try key(seed).get().publicText == read.publicText)
        for text in ["", "\n", seed + "\n\n", seed.dropLast() + "\n", seed + "A\n", " " + seed] {
            guard case .failure(.malformed) = try key(String(text)) else {
                Issue.record("taken as a key")
                continue
            }
        }
        for mode in [0o644, 0o640, 0o604] {
            guard case .failure(.file(.notPrivate)) = try key(seed, mode: mode) else {
                Issue.record("taken although others can read it")
                continue
            }
        }
        guard case .failure(.malformed) = try key(String(repeating: "A", count: 100)) else {
            Issue.record("taken although it is too long")
            return
        }
        let message = RelayKeyError.file(.foreign).message(section: "fcm")
        #expect(message.hasPrefix("[fcm] via-key: ") && message.contains("\nhint: "))
    }

    static let faults: [RelayFault] = [
        .notAllowed, .signatureRefused, .clock(difference: 600), .clock(difference: -600),
        .clock(difference: 0), .clock(difference: nil), .noRelay, .requestRefused(status: 405),
        .untrusted, .serviceOff, .ownerMisconfigured,
    ]

    @Test("every fault says what is wrong, that nothing was deleted, and what to do")
    func messages() {
        for fault in Self.faults {
            let failure = GatewayFailure.misconfigured(.relay(fault, .fcm))
            let lines = failure.message.split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("fcm: the") || fault == .noRelay)
            #expect(lines[0].hasSuffix("; nothing was deleted") && lines[1].hasPrefix("hint: "))
            #expect(failure.name.description.contains("relay"))
        }
        #expect(Set(Self.faults.map(\.name.description)).count == Self.faults.count - 3)
        let unallowed = GatewayFailure.misconfigured(.relay(.notAllowed, .apns)).message
        #expect(unallowed.contains("reveille check"))
    }

    @Test("a refusal means what its status and code say")
    func refusals() {
        func refusal(_ status: Int, _ code: String, _ retryAfter: Int? = nil) -> RelayRefusal {
            RelayRefusal(
                status: status, retryAfter: retryAfter,
                body: Array(#"{"status":1,"code":"\#(code)","more":[1]}"#.utf8), clockDifference: 7)
        }
        #expect(refusal(401, "signature_stale") == .stale(difference: 7))
        #expect(refusal(401, "signature_replayed") == .replayed)
        for code in ["signature_missing", "signature_malformed", "signature_wrong"] {
            #expect(refusal(401, code) == .fault(.signatureRefused))
        }
        // Of something on the way, and not of a relay.
        #expect(refusal(401, "") == .fault(.requestRefused(status: 401)))
        #expect(refusal(403, "blocked") == .fault(.requestRefused(status: 403)))
        #expect(refusal(403, "installation_unknown") == .fault(.notAllowed))
        #expect(refusal(404, "not_found") == .fault(.noRelay))
        #expect(refusal(429, "relay_busy", 3) == .busy(retryAfter: 3))
        #expect(refusal(429, "relay_busy") == .busy(retryAfter: 0))
        #expect(refusal(503, "overloaded", 9) == .failed(retryAfter: 9))
        #expect(refusal(408, "") == .failed(retryAfter: 0))
        // A front that has no response of the relay does not know what became of the request.
        for status in [500, 502, 504] {
            #expect(refusal(status, "", 4) == .unclear(retryAfter: 4))
        }
        #expect(refusal(422, "x") == .fault(.requestRefused(status: 422)))
        let html = RelayRefusal(
            status: 401, retryAfter: nil, body: Array("<signature_stale>".utf8),
            clockDifference: nil)
        #expect(html == .fault(.requestRefused(status: 401)))
    }

    @Test("how a fetch failed says whether there was a relay")
    func fetchErrors() {
        func end(_ error: FetchError, hasHead: Bool = false) -> RelayResult {
            RelayResult(error, hasHead: hasHead)
        }
        #expect(end(.network(code: 6)) == .unconnected(isUnknownHost: true))
        #expect(end(.network(code: 7)) == .unconnected(isUnknownHost: false))
        #expect(end(.network(code: 52)) == .interrupted && end(.truncated) == .interrupted)
        #expect(end(.tls(code: 60)) == .untrusted && end(.tls(code: 77)) == .untrusted)
        #expect(end(.tls(code: 35)) == .unconnected(isUnknownHost: false))
        #expect(end(.timeout) == .unconnected(isUnknownHost: false))
        #expect(end(.unanswered) == .interrupted)
        for error in [FetchError.timeout, .stopped, .tooLarge, .tls(code: 60)] {
            #expect(end(error, hasHead: true) == .interrupted)
        }
    }
}
