import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

@Suite("With the keys", .timeLimit(.minutes(5)))
struct KeyTests {
    /// A row sealed with the real keys, of a plaintext of ours.
    private static func sealed(
        _ description: String, _ finding: AuditFinding, _ plaintext: [UInt8],
        boundTo other: [UInt8]? = nil
    ) -> Plant {
        Plant(description, finding) { site in
            let keys = try require(MasterKeys(StorePlace.bytes(of: site.place.keys)))
            let key = try require(keys.masters[1]).derive(2, context: "rvllseal")
            let id = Sodium.random(32)
            let padded = plaintext + [UInt8](repeating: 0, count: 592 - plaintext.count)
            let associated = [1] + (other ?? id)
            let box = SealedBox.seal(padded.span, associated: associated.span, key: key)
            try site.insert([(id, box)])
        }
    }

    private static let fcm = [1, 3, 0, 3] + Array("abc".utf8)
    private static let seed = String(repeating: "A", count: 43) + "\n"

    /// A file beside the keys, of whose directory all is audited.
    private static func amongKeys(
        _ description: String, _ finding: AuditFinding, _ name: String, _ text: String,
        mode: mode_t = 0o600
    ) -> Plant {
        Plant(description, finding) { site in
            site.auditedKeys = site.place.path + "/keys"
            let path = site.auditedKeys + "/" + name
            try Files.create(path, with: Array(text.utf8).span)
            unsafe chmod(path, mode)
        }
    }

    static let plants = [
        Plant("the group may read them", .keyFileMode) { unsafe chmod($0.place.keys, 0o640) },
        Plant("they belong to another user", .keyFileOwner, needsRoot: true) { site in
            unsafe chown(site.place.keys, 12_345, 0)
        },
        Plant("a link in their place", .keyFileKind) { site in
            let target = site.place.path + "/elsewhere"
            try Files.rename(site.place.keys, to: target)
            guard unsafe symlink(target, site.place.keys) == 0 else { throw NoSuchPlace() }
        },
        Plant("one bit differs", .keyFileDamaged) { site in
            var bytes = StorePlace.bytes(of: site.place.keys)
            bytes[40] ^= 1
            try Files.replace(site.place.keys, with: bytes.span)
        },
        Plant("the keys of another store", .rowDoesNotOpen) { site in
            var bytes = StorePlace.bytes(of: site.place.keys)
            bytes.replaceSubrange(24..<88, with: Sodium.random(64))
            bytes.replaceSubrange(88..., with: Blake2b.hash(bytes.span.extracting(0..<88)))
            try Files.replace(site.place.keys, with: bytes.span)
        },
        Plant("generations exchanged", .rowDoesNotOpen) { site in
            var bytes = StorePlace.bytes(of: site.place.keys)
            bytes.replaceSubrange(24..<88, with: Array(bytes[56..<88]) + Array(bytes[24..<56]))
            bytes.replaceSubrange(88..., with: Blake2b.hash(bytes.span.extracting(0..<88)))
            try Files.replace(site.place.keys, with: bytes.span)
        },
        Plant("the keys of other generations", .generations) { site in
            var bytes = StorePlace.bytes(of: site.place.keys)
            bytes[16] += 1
            bytes.replaceSubrange(88..., with: Blake2b.hash(bytes.span.extracting(0..<88)))
            try Files.replace(site.place.keys, with: bytes.span)
        },
        amongKeys(
            "a file that is none of the declared keys", .keyFileUndeclared, "notes", "anna, bob"),
        amongKeys("a seed that is too short", .keyFileUndeclared, "feed.key", "AAAA\n"),
        amongKeys("a key that the group may read", .keyFileMode, "feed.key", seed, mode: 0o640),
        Plant("a directory of keys that others write to", .keyFileMode) { site in
            site.auditedKeys = site.place.path + "/keys"
            unsafe chmod(site.auditedKeys, 0o777)
        },
        Plant("a link among the keys", .keyFileKind) { site in
            site.auditedKeys = site.place.path + "/keys"
            guard unsafe symlink(site.place.data, site.auditedKeys + "/link") == 0 else {
                throw NoSuchPlace()
            }
        },
        Plant("a copy of the keys, which outlives them", .keyFileTwice) { site in
            site.auditedKeys = site.place.path + "/keys"
            let bytes = StorePlace.bytes(of: site.place.keys)
            try Files.create(site.auditedKeys + "/old.key", with: bytes.span)
        },
        Plant("no key of a store among them", .keyFileDamaged) { site in
            site.auditedKeys = site.place.path + "/keys"
            try Files.remove(site.place.keys)
        },
        sealed("noise behind the push token", .padding, fcm + [0, 0, 9]),
        sealed("a push service nobody knows", .unknownService, [1, 9, 0, 3] + fcm[4...]),
        sealed("another layout", .rowLayout, [2] + fcm[1...]),
        sealed("a length beyond the row", .rowLayout, [1, 3, 2, 80]),
        sealed("a push token that is none", .tokenForm, [1, 3, 0, 3, 1, 2, 3]),
        sealed(
            "an endpoint inside the network", .tokenForm,
            [1, 4, 0, 20] + Array("https://127.0.0.1/aa".utf8)),
        sealed("a row of another id", .rowDoesNotOpen, fcm, boundTo: Sodium.random(32)),
        Plant("a row of noise", .rowDoesNotOpen) { site in
            try site.insert([(Sodium.random(32), Sodium.random(632))])
        },
    ]

    @Test("every row is opened, and what is wrong with one is found", arguments: plants)
    func planted(_ plant: Plant) async throws {
        if plant.needsRoot, geteuid() != 0 { return }
        try await plant.check(keys: true)
    }

    @Test("a well-formed row sealed by hand is clean: the plants above differ in one thing each")
    func control() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try Self.sealed("", .padding, Self.fcm).plant(site)
        let report = try site.audit(keys: true)
        #expect(report.isClean, "\(report.text)")
    }

    /// Of each kind what is written for it, or comes from elsewhere.
    static let declared: [(name: String, text: String)] = {
        let line = String(repeating: "A", count: 64) + "\n"
        let pem = { (body: String) in
            "-----BEGIN PRIVATE KEY-----\n\(body)-----END PRIVATE KEY-----"
        }
        return [
            ("feed.key", seed), ("oblivious.key", String(repeating: "A", count: 47) + "\n"),
            ("vapid.key", pem(line + line + String(repeating: "A", count: 56) + "\n") + "\n"),
            ("AuthKey.p8", pem(line + line + line + "AAAAAA==\n")),
            ("account.json", "{\n  \"type\": \"service_account\"\n}\n"),
            ("registration.key.tmp", "RVLLKEYS"), ("empty.tmp", ""),
        ]
    }()

    @Test("a directory of all kinds of keys is clean, and each with a byte more is not")
    func directory() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        site.auditedKeys = site.place.path + "/keys"
        for (name, text) in Self.declared {
            try Files.create(site.auditedKeys + "/" + name, with: Array(text.utf8).span)
        }
        let report = try site.audit(keys: true)
        #expect(report.isClean, "\(report.text)")
        for (name, text) in Self.declared {
            let path = site.auditedKeys + "/" + name
            try Files.replace(path, with: (Array(text.utf8) + [0x7F]).span)
            #expect(try site.audit(keys: true).findings.count(.keyFileUndeclared) == 1, "\(name)")
            try Files.replace(path, with: Array(text.utf8).span)
        }
    }

    @Test("keys in the data directory are found")
    func beside() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let inside = site.place.data + "/keys"
        try Files.create(inside, with: StorePlace.bytes(of: site.place.keys).span)
        let report = try Audit(
            path: site.place.data, policy: AuditSite.policy, keyFile: inside
        ).run()
        #expect(report.findings.count(.keyFileBesideData) == 1)
        #expect(report.findings.count(.strayFile) == 1)
    }

    @Test("a key file that is not there: could not look")
    func absent() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try Files.remove(site.place.keys)
        #expect(throws: AuditFailure.self) { try site.audit(keys: true) }
    }
}
