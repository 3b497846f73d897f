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
            let body = method == "PUT" ? device.body : []
            func exchange(_ client: LoopbackClient) throws -> WireResponse {
                try client.exchange(method, Self.path, token: device.token, body: body)
            }
            if !closing, clients.count > index {
                // Reading the memory takes so long on a busy machine that the service closes it.
                do { return try exchange(clients[index]) } catch LoopbackClient.Failure.reset {
                    clients[index] = try LoopbackClient(port: service.port)
                    return try exchange(clients[index])
                }
            }
            let client = try LoopbackClient(port: service.port)
            if !closing { clients.append(client) }
            return try exchange(client)
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

    /// How many of the patterns are anywhere in writable memory; nil when it cannot be read. The
    /// beginning of a block is overwritten by whoever has it next.
    private static func hits(_ patterns: [[UInt8]], _ process: Int32) -> Int? {
        ProcessMemory.hits(patterns.map { Array($0.dropFirst(8).prefix(16)) }, of: process)
    }
}
