private import Foundation
import TestSupport
import WakeModel
import WakeSodium
import WakeStore

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

        var database: String { data + "/registrations.db" }

        func copy(to other: Files) throws {
            for (from, to) in [(database, other.database), (keys, other.keys)] {
                try FileManager.default.createDirectory(
                    atPath: URL(filePath: to).deletingLastPathComponent().path,
                    withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try? FileManager.default.removeItem(atPath: to)
                let words = ["cp", "--reflink=auto", "--preserve=mode", from, to]
                guard MeasuredProcess.run(words) else { throw BenchFailure("no room for \(to)") }
            }
        }
    }

    private let directory: String
    private var places: [String: StorePlace] = [:]

    init(in directory: String) { self.directory = directory }

    /// Puts a store with numbered push tokens of APNs in the place of one that is there.
    /// - Parameter expiring: with as many rows that expire at the next rotation.
    func copy(rows: Int, expiring: Bool = false, to files: Files) async throws {
        let name = "\(rows) \(expiring)"
        let place = places[name] ?? StorePlace(in: directory)
        let source = Files(in: place.path)
        if places[name] == nil {
            try Store.create(source.configuration)
            try await Self.fill(source, rows: rows)
            if expiring {
                let store = try Store(opening: source.configuration)
                guard case .rotated = await store.rotate() else {
                    throw BenchFailure("a rotation failed")
                }
                await store.close()
                try await Self.fill(source, first: rows, rows: rows)
            }
            places[name] = place
        }
        try source.copy(to: files)
    }

    /// Registers push tokens, as many at once as the store commits at once.
    static func fill(
        _ files: Files, first: Int = 0, rows: Int,
        token: @escaping @Sendable (Int) -> PushToken? = FilledStores.numbered
    ) async throws {
        let store = try Store(opening: files.configuration)
        let lanes = 4 * Limits.batchOperations
        let isFull = await withTaskGroup(of: Bool.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    for number in stride(from: first + lane, to: first + rows, by: lanes) {
                        guard await register(number, token, in: store) else { return false }
                    }
                    return true
                }
            }
            return await group.allSatisfy { $0 }
        }
        await store.close()
        guard isFull else { throw BenchFailure("a registration was refused while filling") }
    }

    @concurrent
    private static func register(
        _ number: Int, _ token: @Sendable (Int) -> PushToken?, in store: Store
    ) async -> Bool {
        guard let push = token(number) else { return false }
        let answer = await withCheckedContinuation { continuation in
            store.submit(.register(.random, push)) { continuation.resume(returning: $0) }
        }
        return answer == .done
    }

    /// A push token of APNs that ends with the number.
    @Sendable
    static func numbered(_ number: Int) -> PushToken? {
        var bytes = [UInt8](repeating: 0, count: 32)
        for place in 0..<8 { bytes[31 - place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
        return try? PushToken(service: .apns, bytes: bytes)
    }
}
