import Dispatch
import Synchronization
import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// The reports of all batches of a store.
final class BatchReports: Sendable {
    private let reports = Mutex<[BatchReport]>([])

    var all: [BatchReport] { reports.withLock { $0 } }
    var largest: Int { all.map(\.operations).max() ?? 0 }

    func observe(_ configuration: StoreConfiguration) -> StoreConfiguration {
        var configuration = configuration
        configuration.observe = { [self] report in reports.withLock { $0.append(report) } }
        return configuration
    }
}

/// Tokens by number: the same ones `store-worker` uses.
enum Known {
    static func token(_ number: Int) -> InstanceToken {
        let name = Array("instance \(number)".utf8)
        guard let token = InstanceToken(Blake2b.hash(name.span)) else {
            preconditionFailure("a hash looks random")
        }
        return token
    }

    static func pushToken(_ number: Int, _ version: Int = 1) -> PushToken {
        let text = Array("push-\(number)-\(version)".utf8)
        guard let token = try? PushToken(service: .fcm, text: text.span) else {
            preconditionFailure("visible ASCII")
        }
        return token
    }
}

extension StorePlace {
    /// A small reserve and answers at once: tests are many, disks are small, time is short.
    var configuration: StoreConfiguration {
        var configuration = StoreConfiguration(dataDirectory: data, keyFile: keys)
        configuration.reserveBytes = 1 << 20
        configuration.answerTick = .zero
        return configuration
    }

    /// Empty directories for a worker that makes a store of its own.
    func makeDirectories() throws {
        try Files.makeDirectory(data)
        try Files.makeDirectory(path + "/keys")
    }

    /// A new store with this many registrations, closed again.
    func create(registrations: Int = 0) async throws {
        try Store.create(configuration)
        guard registrations > 0 else { return }
        let store = try Store(opening: configuration)
        for number in 0..<registrations {
            _ = await store.ask(.register(Known.token(number), Known.pushToken(number)))
        }
        await store.close()
    }

    /// Those of the tokens whose id, under the keys of either generation, lies in a file.
    func left(of tokens: [Int]) -> [Int] {
        let master = StorePlace.bytes(of: keys)
        let keys = [24..<56, 56..<88].map { GenerationKeys(master: KeyMemory(master[$0].span)) }
        let files = StorePlace.names(in: data).filter { $0 != "reserve" }
            .map { StorePlace.bytes(of: data + "/" + $0) }
        return tokens.filter { number in
            keys.contains { keys in
                let id = keys.id(of: Known.token(number))
                return files.contains { $0.holds(id) }
            }
        }
    }

    /// The file of a generation; a new store has 0 and 1.
    func file(_ generation: UInt64 = 1) -> String { configuration.file(of: generation) }

    /// The file as SQLite sees it, with SQLite's own defaults; never while a store is open in this
    /// process, whose locks closing it would drop.
    func database(_ generation: UInt64 = 1) throws -> Database {
        try Database(path: file(generation), access: .readWrite)
    }
}

extension Store {
    /// One operation, awaited.
    func ask(_ operation: StoreOperation) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            submit(operation) { continuation.resume(returning: $0) }
        }
    }

    /// What is stored under a token; nil for nothing and for a failure.
    func stored(_ number: Int) async -> StoredRegistration? {
        guard case .stored(let registration) = await ask(.read(Known.token(number))) else {
            return nil
        }
        return registration
    }

    /// Holds the writer's thread back, so that whatever is submitted meanwhile meets in its queue
    /// however threads are scheduled.
    /// - Returns: lets it go on.
    func held() async -> @Sendable () -> Void {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { waiter in
            survey { _ in
                waiter.resume()
                gate.wait()
            }
        }
        return { gate.signal() }
    }
}

extension Store {
    var timesEmptied: Int { counters.truncations.now }

    /// Returns when the log was emptied more often than so many times.
    func emptiesLog(after count: Int) async {
        while timesEmptied <= count { await Task.yield() }
    }

    /// Rotates and expects it to succeed.
    @discardableResult
    func rotated() async throws -> RotationReport {
        let outcome = await rotate()
        guard case .rotated(let report) = outcome else { throw TestFailure("\(outcome)") }
        return report
    }
}
