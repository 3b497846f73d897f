private import Foundation
import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// Stores with many rows, filled once and then copied for every row of the table that wants one.
final class FilledStores {
    /// Database and keys of a store, where a service or a `Store` expects them.
    struct Files {
        let data: String
        let keys: String

        init(in directory: String) {
            data = directory + "/data"
            keys = directory + "/keys/registration.key"
        }

        var configuration: StoreConfiguration {
            var configuration = StoreConfiguration(dataDirectory: data, keyFile: keys)
            // Room for everything that is asked for.
            configuration.maxPages = 1 << 26
            return configuration
        }

        /// Files of generations, the older one first.
        var databases: [String] {
            StorePlace.names(in: data).filter { $0.hasPrefix("generation-") && $0.hasSuffix(".db") }
                .sorted { ($0.count, $0) < ($1.count, $1) }.map { data + "/" + $0 }
        }

        /// The keys of new rows, see ``KeyFile``.
        func currentKeys() throws -> GenerationKeys {
            let bytes = try [UInt8](Data(contentsOf: URL(filePath: keys)))
            return GenerationKeys(master: KeyMemory(bytes.span.extracting(24..<56)))
        }

        func copy(to other: Files) throws {
            for database in other.databases { try FileManager.default.removeItem(atPath: database) }
            let pairs = databases.map { ($0, other.data + $0.dropFirst(data.count)) }
            for (from, to) in pairs + [(keys, other.keys)] {
                try FileManager.default.createDirectory(
                    atPath: URL(filePath: to).deletingLastPathComponent().path,
                    withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try? FileManager.default.removeItem(atPath: to)
                // Written in pages, as a store grows: what is written or read ahead in large pieces
                // lies in large folios of the page cache, in which ext4 looks at every block for
                // each page that is written (twice the CPU of a registration, Linux 6.18). What was
                // copied leaves the cache, where it would take the room of the copy.
                let create = ["cp", "--attributes-only", "--preserve=mode", from, to]
                let fill = [
                    "dd", "if=\(from)", "of=\(to)", "bs=\(Limits.pageBytes)", "iflag=nocache",
                    "conv=fsync", "status=none",
                ]
                guard MeasuredProcess.run(create), MeasuredProcess.run(fill)
                else { throw BenchFailure("no room for \(to)") }
            }
        }
    }

    private let directory: String
    private var places: [Int: StorePlace] = [:]

    init(in directory: String) { self.directory = directory }

    /// Puts a store with numbered push tokens of APNs in the place of one that is there.
    func copy(rows: Int, to files: Files) async throws {
        let place = places[rows] ?? StorePlace(in: directory)
        let source = Files(in: place.path)
        if places[rows] == nil {
            try Store.create(source.configuration)
            try await Self.fill(source, rows: rows)
            places[rows] = place
        }
        try source.copy(to: files)
    }

    /// Registers push tokens, as many at once as the store commits at once.
    static func fill(
        _ files: Files, rows: Int,
        token: @escaping @Sendable (Int) -> PushToken? = FilledStores.numbered
    ) async throws {
        let store = try Store(opening: files.configuration)
        var isFull = true
        // Rows of the second half go between those of the first, so that pages are as full as when
        // rows come in any order.
        for half in [0..<rows / 2, rows / 2..<rows] where isFull {
            let order = try inOrder(half, files)
            isFull = await fill(store, order, token)
        }
        await store.close()
        guard isFull else { throw BenchFailure("a registration was refused while filling") }
    }

    private static func fill(
        _ store: Store, _ order: [Int], _ token: @escaping @Sendable (Int) -> PushToken?
    ) async -> Bool {
        let lanes = 4 * Limits.batchOperations
        return await withTaskGroup(of: Bool.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    for place in stride(from: lane, to: order.count, by: lanes) {
                        guard await register(order[place], token, in: store)
                        else { return false }
                    }
                    return true
                }
            }
            return await group.allSatisfy { $0 }
        }
    }

    /// The numbers in the order of their rows' ids: neighbours share pages, and millions of rows
    /// take minutes instead of hours.
    private static func inOrder(_ numbers: Range<Int>, _ files: Files) throws -> [Int] {
        let keys = try files.currentKeys()
        let rows = numbers.map { number in
            let id = keys.id(of: instance(number))
            return (prefix: id.span.bigEndian(at: 0, as: UInt64.self), number: number)
        }
        return rows.sorted { $0.prefix < $1.prefix }.map(\.number)
    }

    @concurrent
    private static func register(
        _ number: Int, _ token: @Sendable (Int) -> PushToken?, in store: Store
    ) async -> Bool {
        guard let push = token(number) else { return false }
        let answer = await withCheckedContinuation { continuation in
            store.submit(.register(instance(number), push)) { continuation.resume(returning: $0) }
        }
        return answer == .done
    }

    /// The instance token of a number; it looks random.
    private static func instance(_ number: Int) -> InstanceToken {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(number))
        guard let token = InstanceToken(Blake2b.hash(bytes.span, count: InstanceToken.byteCount))
        else { preconditionFailure("a hash that looks like no random number") }
        return token
    }

    /// A push token of APNs that ends with the number.
    @Sendable
    static func numbered(_ number: Int) -> PushToken? {
        var bytes = [UInt8](repeating: 0, count: 32)
        for place in 0..<8 { bytes[31 - place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
        return try? PushToken(service: .apns, bytes: bytes)
    }
}
