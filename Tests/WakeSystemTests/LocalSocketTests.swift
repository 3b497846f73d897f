import Foundation
import Synchronization
import TestSupport
import Testing
import WakeSystem

@Suite("A socket for processes of one user")
struct LocalSocketTests {
    @Test("requests are answered, whatever the length of the path, and silence when it is closed")
    func answers() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/" + String(repeating: "x", count: 150)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        #expect(LocalSocket.ask("control", in: path, "a", seconds: 1) == nil)
        let received = Mutex<[[UInt8]]>([])
        let answer = [UInt8](repeating: 7, count: 60_000)
        let socket = try LocalSocket("control", in: path) { request, caller in
            received.withLock { $0.append(request) }
            caller.answer(answer)
        }
        // Only one of a path can listen.
        #expect(throws: SystemError.self) {
            try LocalSocket("control", in: path) { _, _ in }
        }
        for request in ["status", String(repeating: "b", count: 63)] {
            #expect(LocalSocket.ask("control", in: path, request, seconds: 60) == answer)
        }
        // Longer than any: closed without an answer.
        let long = String(repeating: "c", count: 64)
        #expect(LocalSocket.ask("control", in: path, long, seconds: 60) ?? [] == [])
        #expect(received.withLock { $0.map(\.count) } == [6, 63])
        socket.close()
        #expect(LocalSocket.ask("control", in: path, "a", seconds: 1) == nil)
        #expect(!FileManager.default.fileExists(atPath: path + "/control"))
    }

    @Test("a file of a process that died is replaced, one that is no socket stays")
    func stale() throws {
        let directory = try TemporaryDirectory()
        try Data("mine".utf8).write(to: URL(filePath: directory.path + "/control"))
        #expect(throws: SystemError.self) {
            try LocalSocket("control", in: directory.path) { _, _ in }
        }
        #expect(FileManager.default.contents(atPath: directory.path + "/control")?.count == 4)
    }

    @Test("callers that say nothing keep no other waiting")
    func silentCallers() throws {
        let directory = try TemporaryDirectory()
        let order = Mutex<[Int]>([])
        // One after the other they would have had an hour each.
        let socket = try LocalSocket("control", in: directory.path, patience: 3_600_000) {
            request, caller in
            order.withLock { $0.append(request.count) }
            caller.answer(request)
        }
        defer { socket.close() }
        let silent = try (0..<20).map { _ in
            try LoopbackClient(path: directory.path + "/control")
        }
        let answer = LocalSocket.ask("control", in: directory.path, "status", seconds: 600)
        #expect(answer == Array("status".utf8))
        // They have their time as well, if nobody else's.
        try silent[0].send("a\n")
        _ = try? silent[0].receive()
        #expect(order.withLock { $0 } == [6, 1])
        withExtendedLifetime(silent) {}
    }
}
