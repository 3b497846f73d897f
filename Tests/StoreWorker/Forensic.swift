private import Glibc
import StoreFaults
import Synchronization
import WakeModel
import WakeStore
import WakeSystem

/// Mixed operations by many callers with rotations among them. Everything that ever lay in the
/// store is written down elsewhere, so that somebody else can look for it afterwards.
///
/// Lines: `open`, `done OPERATIONS`, and once standard input ends `closed`. Records, 673 bytes
/// each: a letter (`R` registered, `D` deleted, `K` keys of a generation), the token's number and
/// its version, 4 bytes each, little-endian; 32 bytes id and 632 bytes sealed, for `K` the key
/// file.
enum Forensic {
    struct Plan {
        let operations: Int
        let rotations: Int
        let seed: Int

        /// Many at once, so that batches are crowded.
        static let callers = 192
        /// Tokens each caller uses between two rotations. Half of them are others after the next.
        static let tokens = 12
    }

    static func run(_ before: StoreConfiguration, _ plan: Plan, record path: String) async {
        var configuration = before
        configuration.reserveBytes = 1 << 20
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { return Line.write("unrecorded") }
        let store = Main.open(configuration)
        Line.write("open")
        let record = Record(file)
        record.keys(configuration)
        var done = 0
        let phases = plan.rotations + 1
        for phase in 0..<phases {
            done += await withTaskGroup(of: Int.self) { group in
                // Meanwhile, not before: others register and go.
                if phase > 0 { group.addTask { await rotate(store, record) } }
                for caller in 0..<Plan.callers {
                    group.addTask {
                        let share = plan.operations / phases / Plan.callers + 1
                        return await work(caller, phase, share, plan, store, record)
                    }
                }
                return await group.reduce(0, +)
            }
        }
        // Within half a second the previous file loses what has moved, and the logs are emptied.
        let emptied = store.counters.truncations.now
        while store.counters.truncations.now == emptied { await Task.yield() }
        _ = await store.ask(.delete(Known.token(-1)))
        Line.write("done \(done)")
        var byte: UInt8 = 0
        while unsafe read(0, &byte, 1) > 0 {}
        await store.close()
        Line.write("closed")
    }

    private static func rotate(_ store: Store, _ record: Record) async -> Int {
        guard case .rotated = await store.rotate() else {
            Line.write("unrotated")
            return 0
        }
        record.keys(store.configuration)
        return 1
    }

    @concurrent
    private static func work(
        _ caller: Int, _ phase: Int, _ share: Int, _ plan: Plan, _ store: Store, _ record: Record
    ) async -> Int {
        let state = (UInt64(plan.seed) << 20 + UInt64(phase)) << 16 + UInt64(caller)
        var random = SplitMix(state: state)
        var versions: [Int: Int] = [:]
        var done = 0
        for _ in 0..<share {
            // The window of tokens moves on: those left behind expire.
            let place = phase * Plan.tokens / 2 + Int(random.next() % UInt64(Plan.tokens))
            let number = place * Plan.callers + caller
            let choice = random.next() % 10
            let token = Known.token(number)
            if choice < 3 {
                guard await store.ask(.delete(token)) == .done else { return done }
                record.deleted(number)
            } else {
                // As it was (a renewal), or another (a move).
                if choice < 7 || versions[number] == nil {
                    versions[number] = phase << 16 + Int(random.next() & 0xFFFF)
                }
                let version = versions[number] ?? 0
                let pushToken = PushTokenNumber.hashed(number, version)
                guard await store.ask(.register(token, pushToken)) == .done,
                    case .stored(.some(let stored)) = await store.ask(.read(token))
                else { return done }
                record.registered(number, version, stored)
            }
            done += 1
        }
        return done
    }

    /// Records in the order of what they tell about each token: one caller has it.
    private final class Record: Sendable {
        private let file: Int32
        private let order = Mutex(())

        init(_ file: Int32) { self.file = file }

        func registered(_ number: Int, _ version: Int, _ stored: StoredRegistration) {
            write("R", number, version, stored.id + stored.sealed)
        }

        func deleted(_ number: Int) { write("D", number, 0, []) }

        func keys(_ configuration: StoreConfiguration) {
            let file = unsafe open(configuration.keyFile ?? "", O_RDONLY)
            defer { close(file) }
            var bytes = [UInt8](repeating: 0, count: KeyFile.byteCount)
            guard unsafe read(file, &bytes, bytes.count) == bytes.count else {
                return Line.write("keyless")
            }
            write("K", 0, 0, bytes)
        }

        private func write(_ letter: Character, _ number: Int, _ version: Int, _ rest: [UInt8]) {
            var bytes: [UInt8] = [letter.asciiValue ?? 0]
            for value in [number, version] {
                for shift in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * shift))) }
            }
            bytes +=
                rest
                + [UInt8](repeating: 0, count: Limits.idBytes + Limits.sealedBytes - rest.count)
            let count = order.withLock { _ in
                unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            }
            if count != bytes.count { Line.write("unrecorded") }
        }
    }
}

extension PushTokenNumber {
    /// Of APNs, as random as theirs are.
    static func hashed(_ number: Int, _ version: Int) -> PushToken {
        let name = Array("push \(number) \(version)".utf8)
        guard let token = try? PushToken(service: .apns, bytes: Blake2b.hash(name.span)) else {
            preconditionFailure("32 bytes are a push token of APNs")
        }
        return token
    }
}
