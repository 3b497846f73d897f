import TestSupport
import WakeModel
import WakeSystem

/// Registrations and deletes over HTTP, beside the same commits bare.
enum RegistrationRows {
    static let all: [Benchmark] = [
        row("new", 1, small: 1500, "a new registration"),
        row("new", 8, small: 6000, "a new registration"),
        row("new", 64, small: 30_000, "a new registration", hasStore: true),
        row("new", 512, small: 60_000, "a new registration"),
        row("renew", 64, small: 30_000, "a renewal"),
        row("move", 64, small: 30_000, "a renewal after a rotation"),
        row(
            "mixed", 64, small: 20_000,
            "a request of seven renewals, a new registration, a renewal after a rotation and a "
                + "delete"),
        row("delete", 64, small: 15_000, "a delete with erasure"),
        row("new", 64, small: 30_000, "a new registration beside 1 M rows", rows: 1_000_000),
        row(
            "new", 64, small: 30_000, "a new registration beside 10 M rows", rows: 10_000_000,
            isLong: true),
        row("new", 64, small: 15_000, "a new registration, each flush 1 ms slower", slow: 1000),
        row("new", 512, small: 40_000, "a new registration, each flush 1 ms slower", slow: 1000),
    ]

    private static func row(
        _ change: String, _ connections: Int, small: Int, _ operation: String,
        rows: Int = 0, slow: Int = 0, hasStore: Bool = false, isLong: Bool = false
    ) -> Benchmark {
        var name = change == "delete" ? "deletes" : "registrations"
        if change != "delete" { name += "-\(change)" }
        if rows > 0 { name += "-\(rows / 1_000_000)m" }
        if slow > 0 { name += "-slow" }
        let words =
            "\(operation), over HTTP, \(connections) connection"
            + (connections == 1 ? "" : "s")
        return Benchmark(
            "\(name)-\(connections)", words,
            sizes: Sizes(small, full: small * 2, growth: small / 10), by: .rate, isLong: isLong
        ) { setting in
            let place = RegistrationPlace(
                change, connections, rows: rows, slow: slow, setting: setting)
            var arms = [
                Arm(.ours, "service") { try await place.service(round: $0) },
                Arm(.ceiling, "the same commits bare") { _ in try await place.bare() },
            ]
            if hasStore {
                arms.append(Arm(.part, "the store alone") { _ in try await place.store() })
            }
            if setting.hasPeers, change == "new", rows == 0, slow == 0,
                let peer = PythonPeer.registrations(setting)
            {
                arms.append(
                    Arm(.peer, "FastAPI with SQLite") { _ in
                        try peer.registrations(connections: connections, count: setting.size / 10)
                    })
            }
            return arms
        }
    }
}

/// The arms of one row.
private final class RegistrationPlace {
    private let change: String
    private let connections: Int
    private let rows: Int
    private let environment: [String: String]
    private let setting: Setting
    /// Operations in a transaction of the service, as last seen.
    private var batch: Int
    /// Kept from round to round when many rows are there, and what the bare loop writes to.
    private var running: BenchService?
    private var barePlace: StorePlace?

    init(_ change: String, _ connections: Int, rows: Int, slow: Int, setting: Setting) {
        self.change = change
        self.connections = connections
        self.rows = rows
        self.setting = setting
        batch = min(connections, Limits.batchOperations)
        environment =
            slow > 0
            ? [
                "LD_PRELOAD": BenchService.file("slow-flush.so"),
                "SLOW_FLUSH_MICROSECONDS": "\(slow)",
            ] : [:]
    }

    func service(round: Int) async throws -> Measurement {
        if let library = environment["LD_PRELOAD"], !Files.exists(library) {
            throw BenchFailure("no \(library): Tests/Bench makes it with clang")
        }
        let service: BenchService
        if let running { service = running } else { service = try await start() }
        let (requests, tokens) = try await prepared(service)
        let before = try service.counters()
        var measured = try HTTPLoad.run(
            service.address, connections: connections, LoadRequests(requests, of: tokens),
            process: service.process)
        measured.memory = ProcessStatus(of: service.process)?.peak
        let after = try service.counters()
        let commits = (after["store_commits"] ?? 0) - (before["store_commits"] ?? 0)
        if commits > 0 { batch = max(1, measured.operations / commits) }
        if rows == 0 { try await service.stop() } else { running = service }
        return measured
    }

    private func start() async throws -> BenchService {
        let service = try await BenchService(in: setting.directory)
        if rows > 0 { try await setting.stores.copy(rows: rows, to: service.files) }
        try await service.start(environment)
        return service
    }

    /// Registers what is to be renewed, moved or deleted.
    private func prepared(
        _ service: BenchService
    ) async throws -> (steps: [LoadRequests.Step], tokens: LoadTokens) {
        let steps = BareLoop.steps(change, setting.size)
        let tokens = LoadTokens(setting.size)
        func put(_ isWanted: (BareLoop.Change) -> Bool) throws {
            let numbers = steps.indices.filter { isWanted(steps[$0]) }
            guard !numbers.isEmpty else { return }
            let requests = LoadRequests(numbers.map { .put($0) }, of: tokens)
            let done = try HTTPLoad.run(
                service.address, connections: 256, requests, process: nil)
            guard done.failures == 0 else { throw BenchFailure("a registration was refused") }
        }
        if steps.contains(.move) {
            try put { $0 == .move }
            try await service.command("rotate", "--now", "--yes")
        }
        try put { $0 == .renew || $0 == .delete }
        return (
            steps.indices.map { steps[$0] == .delete ? .delete($0) : .put($0) }, tokens
        )
    }

    func bare() async throws -> Measurement {
        let place = barePlace ?? StorePlace(in: setting.directory)
        if rows > 0 {
            if barePlace == nil {
                try await setting.stores.copy(rows: rows, to: .init(in: place.path))
            }
            barePlace = place
        }
        return try BareLoop.measure(
            in: place.path, change, count: setting.size, batch: batch, environment: environment)
    }

    func store() async throws -> Measurement {
        let place = StorePlace(in: setting.directory)
        return try await StoreLoop.run(
            directory: place.path, connections: connections, operations: setting.size)
    }
}
