import Foundation
import Glibc
import TestSupport
import Testing
import WakeModel

/// The memory of the built service, read as root by /proc/PID/mem (proc(5)).
@Suite(
    "What stays in the memory of the service", .timeLimit(.minutes(5)),
    .enabled(if: geteuid() == 0, "needs root: the service is closed to its own user"))
struct MemoryTests {
    private static let path = "/v1/registration"

    @Test(
        "tokens are in memory while a request is served, rows while they are stored",
        arguments: [true, false])
    func remains(closing: Bool) async throws {
        let service = try await ServiceUnderTest()
        let process = service.program.identifier
        guard Self.hits([Array("reveille".utf8)], process) != nil else { return }
        let devices = (0..<20).map { _ in TestDevice() }
        var clients: [LoopbackClient] = []
        func send(_ method: String, _ index: Int) throws -> WireResponse {
            let device = devices[index]
            if !closing, clients.count > index {
                return try clients[index].exchange(
                    method, Self.path, token: device.token, body: method == "PUT" ? device.body : []
                )
            }
            let client = try LoopbackClient(port: service.port)
            if !closing { clients.append(client) }
            return try client.exchange(
                method, Self.path, token: device.token, body: method == "PUT" ? device.body : [])
        }
        for index in devices.indices { #expect(try send("PUT", index).status == 204) }
        let tokens = devices.flatMap(\.forms)
        try Self.settle(tokens, service, most: 0)

        var rows: [[UInt8]] = []
        for index in devices.indices {
            let stored = try RegistrationResponse.decode(send("GET", index).body).stored
            let row = try #require(stored)
            rows += [row.id, row.sealed]
        }
        try Self.settle(tokens, service, most: 0)
        // The control: pages with rows are kept for the next request.
        #expect(Self.hits(rows, process) ?? 0 > 0)
        for index in devices.indices { #expect(try send("DELETE", index).status == 204) }
        try Self.settle(tokens, service, most: 0)
        // Id and sealed bytes of the row written last, where SQLite makes up the next one.
        try Self.settle(rows, service, most: 2)
    }

    /// Waits until no more of the patterns are found: connections are closed after their answers.
    private static func settle(
        _ patterns: [[UInt8]], _ service: ServiceUnderTest, most: Int,
        location: SourceLocation = #_sourceLocation
    ) throws {
        let process = service.program.identifier
        var found = hits(patterns, process) ?? .max
        for _ in 0..<50 where found > most {
            // Once it is answered the loop has been round.
            _ = try service.send("GET", "/health")
            found = hits(patterns, process) ?? .max
        }
        #expect(found <= most, sourceLocation: location)
    }

    /// How many of the patterns are anywhere in writable memory; nil when it cannot be read.
    private static func hits(_ patterns: [[UInt8]], _ process: Int32) -> Int? {
        guard let maps = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)
        else { return nil }
        let memory = unsafe open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { return nil }
        defer { close(memory) }
        var found: Set<Int> = []
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard words[1].hasPrefix("rw"), ends.count == 2 else { continue }
            var bytes = [UInt8](repeating: 0, count: ends[1] - ends[0])
            // Fenced pages cannot be read.
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(memory, $0.baseAddress, $0.count, ends[0])
            }
            guard count > 0 else { continue }
            for index in patterns.indices where !found.contains(index) {
                // The beginning of a block is overwritten by whoever has it next.
                let middle = Array(patterns[index].dropFirst(8).prefix(16))
                if StorePlace.contains(bytes, middle) { found.insert(index) }
            }
        }
        return found.count
    }
}
