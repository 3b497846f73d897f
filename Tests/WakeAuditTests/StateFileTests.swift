import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

/// Files of the service's state as it writes them, and what they must not hold.
@Suite("What the files beside the database hold", .timeLimit(.minutes(5)))
struct StateFileTests {
    private static let boot = String(repeating: "0f", count: 16)
    private static let pushToken = String(repeating: "9a", count: 32)

    private static func sealed(_ format: String, _ version: Int, _ state: String) -> [UInt8] {
        let text = #"{"format":"\#(format)","version":\#(version),"state":{\#(state)}"#
        var number: [UInt8] = []
        number.append(bigEndian: CRC32.checksum(Array(text.utf8).span))
        let digits = String(decoding: Hex.encode(number.span), as: UTF8.self)
        return Array((text + #","crc32":"\#(digits)"}"# + "\n").utf8)
    }

    private static func encoded(_ text: String) -> String {
        String(decoding: Base64URL.encode(Array(text.utf8).span), as: UTF8.self)
    }

    private static let seen = #""seen":{"uptime":86400,"wall":1800000000,"boot":"\#(boot)"}"#
    private static let broadcast =
        #""run":17,\#(seen),"ends":[-71,78300],"running":false,"stopped":true,"pending":6"#
    private static let rotation =
        #""generation":3,"elapsed":100,"asked":false,"told":1239,"told_in":2"#
    private static let jwt =
        encoded(#"{"alg":"ES256","kid":"ABC123DEFG"}"#) + "."
        + encoded(#"{"iss":"DEF123GHIJ","iat":1800000000}"#) + "."
        + String(repeating: "A", count: 86)

    /// A checkpoint; `change` before the header's hash is made.
    private static func checkpoint(_ change: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var header = Array("RVLCHECK".utf8) + [3, 5, 12] + [UInt8](repeating: 0, count: 37)
        header[16] = 17
        change(&header)
        let positions = [UInt8](repeating: 7, count: 6) + [UInt8](repeating: 0, count: 4090)
        let lists = [0xFF, 0xFF, 0x1F, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: (1 << 21) - 8)
        return header + Blake2b.hash(header.span) + [UInt8](repeating: 0, count: 4016) + positions
            + lists
    }

    /// Of each file what the service may have written.
    static let valid: [(name: String, bytes: [UInt8])] = [
        ("broadcast", sealed("broadcast", 1, broadcast)),
        (
            "broadcast",
            sealed(
                "broadcast", 1,
                #""sequence":1842,"# + broadcast + #","rates":[-1,9,-1,3]"#
                    + #","heartbeat":{"interval":7200,"due":90000,"end":92400}"#)
        ),
        ("broadcast", sealed("broadcast", 1, broadcast.replacing("[-71,78300]", with: "[]"))),
        ("rotation", sealed("rotation", 3, rotation)),
        (
            "rotation",
            sealed("rotation", 3, #""generation":1,"elapsed":0,"asked":true"#)
        ),
        (
            "apns-token",
            sealed(
                "apns-token", 1,
                #""token":"\#(jwt)","iat":1800000000,"uptime":9,"boot":"\#(boot)""#)
        ),
        ("installations", sealed("installations", 1, #""installations":[]"#)),
        (
            "installations",
            sealed(
                "installations", 1,
                #""installations":[{"name":"a-1","key":"\#(String(repeating: "A", count: 43))"},"#
                    + #"{"name":"b","key":"\#(String(repeating: "E", count: 43))"}]"#)
        ),
        (
            "watched-feed",
            sealed(
                "watched-feed", 1,
                #""cursor":"\#(String(repeating: "A", count: 198))","#
                    + #""keys":[{"key":"\#(String(repeating: "A", count: 54))"},"#
                    + #"{"key":"\#(String(repeating: "B", count: 52))AA"}]"#)
        ),
        ("checkpoint", checkpoint()), ("reserve", [UInt8](repeating: 0, count: 1 << 20)),
        ("reserve", []),
        // What a kill or a power cut leaves of one that was to be renamed.
        ("rotation.tmp", Array(sealed("rotation", 3, rotation).prefix(60))),
        ("broadcast.tmp", []), ("checkpoint.tmp", Array(checkpoint().prefix(100_000))),
        ("apns-token.tmp", [UInt8](repeating: 0, count: 400)),
    ]

    private static func file(
        _ description: String, _ name: String, _ bytes: [UInt8],
        _ finding: AuditFinding = .stateForm
    ) -> Plant {
        return Plant(description, finding) { try $0.write(bytes, to: name) }
    }

    static let contents = [
        file("a push token among zeros", "reserve", among(Array(pushToken.utf8)), .stateToken),
        file("a word among zeros", "reserve", among(Array("anna".utf8))),
        file("text among zeros", "reserve", among(Array("bought a red bicycle".utf8)), .stateText),
        file("an endpoint", "reserve", among(Array("https://push.example/x".utf8)), .stateToken),
        file("raw bytes of a token", "reserve", among(Sodium.random(32))),
        file("the keys", "reserve", Array("RVLLKEYS\u{1}".utf8), .keysBesideData),
        file("the keys by another name", "apns-token", Array("RVLLKEYS".utf8), .keysBesideData),
        file("too many zeros", "reserve", [UInt8](repeating: 0, count: 32_768_001)),
        file("a temporary file nobody writes", "reserve.tmp", [0], .strayFile),
        file("a token in a temporary file", "rotation.tmp", Array(pushToken.utf8)),
        file("a token for a temporary checkpoint", "checkpoint.tmp", Sodium.random(32)),
        file(
            "a member more", "rotation",
            sealed("rotation", 3, rotation + #","note":"\#(pushToken)""#)),
        file(
            "text for a number", "rotation",
            sealed("rotation", 3, rotation.replacing("100", with: #""100""#))),
        file(
            "a number beyond its range", "rotation",
            sealed("rotation", 3, rotation.replacing("100", with: "99999999990"))),
        file(
            "a number in another spelling", "rotation",
            sealed("rotation", 3, rotation.replacing("100", with: "0100"))),
        file(
            "members in another order", "rotation",
            sealed(
                "rotation", 3, #""elapsed":100,"# + rotation.replacing(#""elapsed":100,"#, with: "")
            )
        ),
        file("a space", "rotation", sealed("rotation", 3, " " + rotation)),
        file("bytes behind it", "rotation", sealed("rotation", 3, rotation) + [0]),
        file(
            "another checksum", "rotation",
            sealed("rotation", 3, rotation).map { $0 == UInt8(ascii: "9") ? 0x38 : $0 }),
        file(
            "a longer boot id", "broadcast",
            sealed("broadcast", 1, broadcast.replacing(boot, with: pushToken))),
        file(
            "four broadcasts", "broadcast",
            sealed("broadcast", 1, broadcast.replacing("[-71,", with: "[1,2,-71,"))),
        file(
            "claims of somebody", "apns-token",
            sealed(
                "apns-token", 1,
                #""token":"\#(encoded(#"{"alg":"ES256","kid":"A","sub":"anna"}"#)).\#(jwt)","#
                    + #""iat":1,"uptime":9,"boot":"\#(boot)""#)),
        file("a checkpoint cut short", "checkpoint", Array(checkpoint().dropLast())),
        file("a note in its header", "checkpoint", checkpoint { $0[12] = 7 }),
        file("a number that is text", "checkpoint", checkpoint { $0[31] = 0x61 }),
        file("text in its lists", "checkpoint", Array(checkpoint().dropLast()) + [0x61]),
    ]

    private static func among(_ bytes: [UInt8]) -> [UInt8] {
        var zeros = [UInt8](repeating: 0, count: 100_000)
        zeros.replaceSubrange(70_001..<70_001 + bytes.count, with: bytes)
        return zeros
    }

    @Test("but their declared form is found", arguments: contents)
    func planted(_ plant: Plant) async throws {
        try await plant.check()
    }

    @Test("what the service may have written is no violation", arguments: valid.indices)
    func declared(_ index: Int) async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try site.write(Self.valid[index].bytes, to: Self.valid[index].name)
        let report = try site.audit()
        #expect(report.isClean, "\(Self.valid[index].name): \(report.text)")
    }

    @Test("one that is written, renamed and removed meanwhile is no violation")
    func changing() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let isOver = Observed(false)
        let path = site.place.data + "/rotation"
        let writer = Task {
            try await BlockingExecutor.run {
                while !isOver.value {
                    try Files.replace(path, with: Self.sealed("rotation", 3, Self.rotation).span)
                    try Files.remove(path)
                }
            }
        }
        for _ in 0..<2_000 {
            var findings = AuditFindings()
            try DirectoryCheck(site.audited, AuditSite.policy).run(isHeld: false, &findings)
            #expect(findings.found(in: .place).isEmpty)
        }
        isOver.update { $0 = true }
        try await writer.value
    }

    @Test(
        "a form that is none makes no policy",
        arguments: ["", "<number>", "<number 5-1>", "(a", "<what 3>", "<bytes 0-1>", "<encoded a"])
    func malformed(_ text: String) {
        #expect(StateForm(text) == nil)
    }
}
