import Foundation
import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

@testable import WakeServer

@Suite("The memory of a witness")
struct WitnessStoreTests {
    private let place: TemporaryDirectory
    private let log = SampleLog().grown(to: 40)
    private let witness: SampleWitness

    init() throws {
        place = try TemporaryDirectory()
        witness = try SampleWitness(place.path + "/w", logs: [log])
    }

    private func file(_ name: String) -> String { place.path + "/w/" + name }

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test("what it cosigned it knows after a restart, and monitors read it with both signatures")
    func restart() throws {
        var store: WitnessStore? = try WitnessStore(witness.directory)
        guard case .cosigned(let line)? = store?.add(log.request(from: 0, to: 7), now: 1_000)
        else {
            Issue.record("refused")
            return
        }
        #expect(witness.time(line, of: log.checkpoint(7)) == 1_000)
        store = nil
        let again = try WitnessStore(witness.directory)
        let identifier = WitnessedLog.identifier(of: log.origin)
        let note = try #require(again.checkpoint(identifier).flatMap(SignedCheckpoint.init))
        #expect(note.checkpoint == log.checkpoint(7))
        #expect(try note.note.verify([log.key, witness.key]).map { $0?.time } == [nil, 1_000])
        #expect(note.note.signatures.count == 2)
        #expect(again.add(log.request(from: 0, to: 9)) == .refused(.conflict(size: 7)))
        #expect(again.checkpoint(WitnessedLog.identifier(of: [1])) == nil)
    }

    @Test(
        "a request that is repeated at once gets the same line, later a new one; no time goes back")
    func repeated() throws {
        let events = Mutex<[WitnessEvent]>([])
        let store = try WitnessStore(witness.directory) { event in
            events.withLock { $0.append(event) }
        }
        let first = store.add(log.request(from: 0, to: 7), now: 1_000)
        #expect(store.add(log.request(from: 7, to: 7), now: 1_005) == first)
        guard case .cosigned(let later) = store.add(log.request(from: 7, to: 7), now: 1_006) else {
            Issue.record("refused")
            return
        }
        #expect(witness.time(later, of: log.checkpoint(7)) == 1_006)
        // The same tree in another text is another statement.
        let extended = store.add(
            log.request(from: 7, to: 7, extensions: [Array("more".utf8)]), now: 1_006)
        guard case .cosigned(let line) = extended else {
            Issue.record("refused")
            return
        }
        #expect(
            witness.time(line, of: log.checkpoint(7, extensions: [Array("more".utf8)])) == 1_006)
        #expect(store.add(log.request(from: 7, to: 9), now: 1_005) == .unavailable)
        #expect(events.withLock { $0.last } == .clockBehind(seconds: 1))
        guard case .cosigned = store.add(log.request(from: 7, to: 9), now: 1_006) else {
            Issue.record("refused")
            return
        }
    }

    @Test("a log that floods is held back, and another one is not")
    func flood() throws {
        let other = SampleLog("log.example/b", seed: 2).grown(to: 3)
        _ = try witness.directory.addLog(other.key, origin: other.origin)
        let store = try WitnessStore(witness.directory)
        let long = log.grown(to: 300)
        var last = 0
        while last < 299 {
            guard
                case .cosigned = store.add(
                    long.request(from: last, to: last + 1), now: 1_000, uptime: 1)
            else { break }
            last += 1
        }
        #expect(last == 200)
        let next = long.request(from: last, to: last + 1)
        #expect(store.add(next, now: 1_000, uptime: 1) == .tooMany)
        guard case .cosigned = store.add(other.request(from: 0), now: 1_000, uptime: 1),
            case .cosigned = store.add(next, now: 1_000, uptime: 50_000_001)
        else {
            Issue.record("held back")
            return
        }
    }

    @Test("of many requests at once for one log each tree is cosigned after a smaller one, or not")
    func together() async throws {
        let store = try WitnessStore(witness.directory)
        let log = log
        let cosigned = await withTaskGroup(of: [(old: Int, size: Int)].self) { group in
            for worker in 0..<8 {
                group.addTask { Self.race(store, log, seed: UInt64(worker)) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        // Each size was left by one alone: whoever came second was told of the conflict.
        let steps = cosigned.filter { $0.old != $0.size }
        #expect(Set(steps.map(\.old)).count == steps.count)
        #expect(steps.map(\.size).max() == 40)
    }

    private static func race(
        _ store: WitnessStore, _ log: SampleLog, seed: UInt64
    ) -> [(old: Int, size: Int)] {
        var random = SplitMix64(seed: seed)
        var (known, steps) = (0, [(old: Int, size: Int)]())
        while known < 40 {
            let size = Int.random(in: known...40, using: &random)
            switch store.add(log.request(from: known, to: size), now: 1_000) {
            case .cosigned:
                steps.append((known, size))
                known = size
            case .refused(.conflict(let size)): known = Int(size)
            default: Issue.record("another answer")
            }
        }
        return steps
    }

    @Test("a log that signs two trees of one size is refused, and both are kept as the proof")
    func forked() throws {
        let store = try WitnessStore(witness.directory)
        let fork = SampleLog().grown(to: 5).grown(to: 40, history: 1)
        _ = store.add(log.request(from: 0, to: 9), now: 1_000)
        for _ in 0..<2 {
            #expect(store.add(fork.request(from: 9, to: 9), now: 1_001) == .refused(.forked))
        }
        let name = "checkpoints/" + WitnessedLog.identifier(of: log.origin) + ".fork"
        let kept = try Files.read(file(name), limit: 1 << 20)
        let root = String(decoding: fork.checkpoint(9).text, as: UTF8.self)
        #expect(String(decoding: kept, as: UTF8.self).contains(root))
        guard case .cosigned = store.add(log.request(from: 9, to: 12), now: 1_002) else {
            Issue.record("the true history is refused")
            return
        }
    }

    @Test("logs and keys that are added while it runs count from the next request on")
    func added() throws {
        let store = try WitnessStore(witness.directory)
        let other = SampleLog("log.example/b", seed: 2).grown(to: 3)
        #expect(store.add(other.request(from: 0)) == .refused(.unknownOrigin))
        _ = try witness.directory.addLog(other.key, origin: other.origin)
        guard case .cosigned = store.add(other.request(from: 0)) else {
            Issue.record("refused")
            return
        }
        // The next key of the first log, under the same origin.
        let next = SampleLog(seed: 3).signer
        let body = log.request(from: 0, to: 4, signer: next)
        #expect(store.add(body) == .refused(.notSigned))
        _ = try witness.directory.addLog(next.verifier(.ed25519), origin: log.origin)
        guard case .cosigned = store.add(body) else {
            Issue.record("refused")
            return
        }
        #expect(throws: WitnessDirectoryError.log(.isThere)) {
            try witness.directory.addLog(log.key, origin: log.origin)
        }
        // A damaged list is not taken up; the one of before holds.
        try Data("x".utf8).write(to: URL(filePath: file("logs")))
        #expect(store.add(log.request(from: 0, to: 4)) == .refused(.conflict(size: 4)))
    }

    @Test(
        "it does not start when anything that it must remember is missing or damaged",
        arguments: ["logs", "identity", "key", "checkpoints/#"])
    func lost(_ name: String) throws {
        let path = file(name.replacing("#", with: WitnessedLog.identifier(of: log.origin)))
        _ = try WitnessStore(witness.directory).add(log.request(from: 0, to: 7), now: 1_000)
        let whole = try Data(contentsOf: URL(filePath: path))
        for offset in stride(from: 0, to: whole.count, by: 7) {
            var damaged = whole
            damaged[offset] ^= 0x01
            try damaged.write(to: URL(filePath: path))
            #expect(throws: WitnessDirectoryError.self) { try WitnessStore(witness.directory) }
        }
        for size in [0, whole.count / 2, whole.count - 2] {
            try whole.prefix(size).write(to: URL(filePath: path))
            #expect(throws: WitnessDirectoryError.self) { try WitnessStore(witness.directory) }
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(throws: WitnessDirectoryError.self) { try WitnessStore(witness.directory) }
        // Nor is it made again over what is left.
        #expect(throws: WitnessDirectoryError.self) {
            try witness.directory.create(witness.key.name)
        }
        try whole.write(to: URL(filePath: path))
        try setMode(0o600, of: path)
        _ = try WitnessStore(witness.directory)
    }

    @Test("a record of another witness, or an older form of its own text, is not taken for one")
    func foreign() throws {
        _ = try WitnessStore(witness.directory).add(log.request(from: 0, to: 7), now: 1_000)
        let other = try SampleWitness(place.path + "/other", logs: [log])
        let name = "checkpoints/" + WitnessedLog.identifier(of: log.origin)
        _ = try WitnessStore(other.directory).add(log.request(from: 0, to: 3), now: 900)
        let theirs = try Data(contentsOf: URL(filePath: place.path + "/other/" + name))
        try theirs.write(to: URL(filePath: file(name)))
        #expect(throws: WitnessDirectoryError.self) { try WitnessStore(witness.directory) }
    }

    @Test("two processes are never one witness, and others' eyes are not on the key")
    func alone() throws {
        let store = try WitnessStore(witness.directory)
        #expect(throws: WitnessDirectoryError.running) { try WitnessStore(witness.directory) }
        #expect(store.logCount == 1)
        try setMode(0o640, of: file("key"))
        #expect(throws: WitnessDirectoryError.key(.keyFile(.notPrivate(mode: 0o640)))) {
            try WitnessStore(witness.directory)
        }
        try setMode(0o600, of: file("key"))
        try setMode(0o666, of: file("logs"))
        #expect(throws: WitnessDirectoryError.self) { try witness.directory.logs() }
    }

    @Test("what cannot be written is not cosigned: a full disk")
    func full() throws {
        let events = Mutex<[WitnessEvent]>([])
        let store = try WitnessStore(witness.directory) { event in
            events.withLock { $0.append(event) }
        }
        guard case .cosigned = store.add(log.request(from: 0, to: 7), now: 1_000) else {
            Issue.record("refused")
            return
        }
        // A directory in the temporary file's place: opening it fails as a disk without inodes
        // does.
        let blocked = file(
            "checkpoints/" + WitnessedLog.identifier(of: log.origin) + ".tmp")
        try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
        for _ in 0..<2 {
            #expect(store.add(log.request(from: 7, to: 12), now: 1_001) == .unavailable)
        }
        #expect(store.add(log.request(from: 12, to: 14)) == .refused(.conflict(size: 7)))
        try FileManager.default.removeItem(atPath: blocked)
        guard case .cosigned = store.add(log.request(from: 7, to: 9), now: 1_002) else {
            Issue.record("refused")
            return
        }
        let said = events.withLock { $0 }
        #expect(said.count { if case .storeFailing = $0 { true } else { false } } == 1)
        #expect(said.contains(.storeRecovered))
    }
}
