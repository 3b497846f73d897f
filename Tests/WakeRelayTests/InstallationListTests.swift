import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeRelay

@Suite("The list of installations")
struct InstallationListTests {
    private static let keys = (UInt8(0)..<4).map { seed in
        SigningKey(seed: [UInt8](repeating: seed, count: 32).span).verifyingKey
    }
    private static let file = Array(
        "village \(keys[0].text)\ntown-2 \(keys[1].text)\n0 \(keys[2].text)\n".utf8)

    @Test("is a name and a key a line, and writes what it read")
    func vector() throws {
        let list = try InstallationList(parsing: Self.file)
        #expect(list.entries.map(\.name.description) == ["village", "town-2", "0"])
        #expect(list.entries.map(\.key) == Self.keys.prefix(3).map(\.bytes))
        #expect(list.text == Self.file)
        #expect(list.contains(Self.keys[1].bytes))
        #expect(!list.contains(Self.keys[3].bytes))
        #expect(try InstallationList(parsing: []) == InstallationList())
    }

    @Test("is refused as a whole for one line that is not right, by its number")
    func mistakes() {
        let key = Self.keys[3].text
        let long = String(repeating: "a", count: 65)
        let cases: [(String, InstallationListError.Reason)] = [
            ("other\n", .noKey), ("\n", .noKey), ("# \(key)\n", .name), (" \(key)\n", .name),
            ("Other \(key)\n", .name), ("ot_her \(key)\n", .name), ("\(long) \(key)\n", .name),
            ("ö \(key)\n", .name), ("other \(key.dropLast())\n", .key), ("other \(key)A\n", .key),
            ("other  \(key)\n", .key), ("other \(key) \n", .key), ("other \(key)\r\n", .key),
            ("other \(key)=\n", .key), ("other \(key)", .notEnded), ("other", .notEnded),
            ("town-2 \(key)\n", .nameTwice), ("other \(Self.keys[0].text)\n", .keyTwice),
        ]
        for (line, reason) in cases {
            #expect(throws: InstallationListError.line(4, reason), "\(line)") {
                try InstallationList(parsing: Self.file + Array(line.utf8))
            }
        }
    }

    @Test("cut anywhere is a list of whole lines, or none at all")
    func cuts() {
        for count in 0...Self.file.count {
            let list = try? InstallationList(parsing: Array(Self.file.prefix(count)))
            let isWhole = count == 0 || Self.file[count - 1] == 0x0A
            #expect((list != nil) == isWhole)
        }
    }

    @Test("holds ten thousand and not one more")
    func full() throws {
        var text: [UInt8] = []
        for index in 0..<Limits.installations {
            var key = [UInt8](repeating: 7, count: 32)
            (key[0], key[1]) = (UInt8(index & 255), UInt8(index >> 8))
            text += Array("n\(index) ".utf8) + Base64URL.encode(key.span) + [0x0A]
        }
        #expect(text.count <= InstallationList.maximumBytes)
        var list = try InstallationList(parsing: text)
        #expect(list.entries.count == Limits.installations)
        let name = try #require(InstallationName("one-more"))
        #expect(throws: InstallationChangeError.tooMany) { try list.allow(name, Self.keys[0]) }
        text += Array("one-more \(Self.keys[0].text)\n".utf8)
        #expect(throws: InstallationListError.line(Limits.installations + 1, .tooMany)) {
            try InstallationList(parsing: text)
        }
    }

    @Test("takes each name and each key once, and forgets both when one is revoked")
    func changes() throws {
        var list = try InstallationList(parsing: Self.file)
        let village = try #require(InstallationName("village"))
        let other = try #require(InstallationName("other"))
        #expect(throws: InstallationChangeError.nameTaken) {
            try list.allow(village, Self.keys[3])
        }
        #expect(throws: InstallationChangeError.keyTaken(village)) {
            try list.allow(other, Self.keys[0])
        }
        #expect(throws: InstallationChangeError.nameUnknown) { try list.revoke(other) }
        try list.revoke(village)
        #expect(!list.contains(Self.keys[0].bytes))
        try list.allow(other, Self.keys[0])
        try list.allow(village, Self.keys[3])
        #expect(try InstallationList(parsing: list.text) == list)
        #expect(list.entries.map(\.name.description) == ["town-2", "0", "other", "village"])
    }
}
