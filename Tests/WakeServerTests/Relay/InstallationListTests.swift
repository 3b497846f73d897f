import Testing
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

extension InstallationList {
    /// A list as a file holds it, with whatever names and keys.
    init(_ entries: (String, [UInt8])...) throws { try self.init(entries) }

    init(_ entries: [(String, [UInt8])]) throws {
        struct Entries: StateRecord {
            static let format = InstallationList.format
            static let version = InstallationList.version
            static let byteLimit = Int.max
            var entries: [(String, [UInt8])] = []

            func encode(to state: inout JSONText) {
                state.beginArray("installations")
                for (name, key) in entries {
                    state.beginObject()
                    state.member("name", string: name)
                    state.member("key", string: Base64URL.encode(key.span).span)
                    state.endObject()
                }
                state.endArray()
            }

            init(_ entries: [(String, [UInt8])]) { self.entries = entries }

            init(decoding state: inout StateObject) throws(StateDamage) { throw StateDamage() }
        }
        try self.init(stateFile: Entries(entries).stateFile())
    }
}

@Suite("The list of installations")
struct InstallationListTests {
    private static let keys = (UInt8(0)..<4).map { seed in
        SigningKey(seed: [UInt8](repeating: seed, count: 32).span).verifyingKey
    }
    private static let three = [
        ("village", keys[0].bytes), ("town-2", keys[1].bytes), ("0", keys[2].bytes),
    ]

    @Test("is names and keys in order, and written as it was read")
    func vector() throws {
        let list = try InstallationList(Self.three)
        #expect(list.entries.map(\.name.description) == ["village", "town-2", "0"])
        #expect(list.entries.map(\.key) == Self.keys.prefix(3).map(\.bytes))
        #expect(try InstallationList(stateFile: list.stateFile()) == list)
        #expect(list.contains(Self.keys[1].bytes))
        #expect(!list.contains(Self.keys[3].bytes))
        #expect(try InstallationList(stateFile: InstallationList().stateFile()).entries.isEmpty)
    }

    @Test("is refused as a whole for one entry that is not right")
    func mistakes() {
        let key = Self.keys[3].bytes
        let cases: [(String, [UInt8])] = [
            ("", key), ("Other", key), ("ot_her", key), ("other ", key), ("ö", key),
            (String(repeating: "a", count: 65), key), ("other", key.dropLast()),
            ("other", key + [0]), ("other", []), ("town-2", key), ("other", Self.keys[0].bytes),
        ]
        for entry in cases {
            #expect(throws: StateFileFault.damaged, "\(entry)") {
                try InstallationList(Self.three + [entry])
            }
        }
        #expect(throws: Never.self) { try InstallationList(Self.three + [("other", key)]) }
    }

    @Test("cut anywhere is no list")
    func cuts() throws {
        let file = try InstallationList(Self.three).stateFile()
        for count in file.indices {
            #expect(throws: StateFileFault.damaged) {
                try InstallationList(stateFile: Array(file.prefix(count)))
            }
        }
    }

    @Test("holds ten thousand of the longest names and not one more")
    func full() throws {
        var entries = (0..<Limits.installations).map { index in
            var key = [UInt8](repeating: 7, count: 32)
            (key[0], key[1]) = (UInt8(index & 255), UInt8(index >> 8))
            return (String(repeating: "n", count: 64 - "\(index)".count) + "\(index)", key)
        }
        var list = try InstallationList(entries)
        #expect(list.entries.count == Limits.installations)
        #expect(list.stateFile().count <= InstallationList.byteLimit)
        let name = try #require(InstallationName("one-more"))
        #expect(throws: InstallationChangeError.tooMany) { try list.allow(name, Self.keys[0]) }
        entries[0].0 = "0"
        entries.append(("1", Self.keys[0].bytes))
        #expect(throws: StateFileFault.damaged) { try InstallationList(entries) }
    }

    @Test("takes each name and each key once, and forgets both when one is revoked")
    func changes() throws {
        var list = try InstallationList(Self.three)
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
        #expect(try InstallationList(stateFile: list.stateFile()) == list)
        #expect(list.entries.map(\.name.description) == ["town-2", "0", "other", "village"])
    }
}
