import Foundation
import TestSupport
import Testing

@Suite("A thousand wakes in a second, with the built programs", .timeLimit(.minutes(5)))
struct ClientWakeTests {
    @Test("two cycles at most, and one notification; what comes after is found as well")
    func flood() async throws {
        let service = try await ServiceUnderTest()
        let front = try FloodingFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("visit")
        // Otherwise the stream's first event would be one without a number.
        _ = try await service.publish([TestDevice().pushText], notes: [])
        // And otherwise it would be news, and lead to a look of its own.
        #expect(try await client.command("sync").status == 0)
        let running = try await client.listen("--on-match", reports.program)
        // Its first look and the one before have been answered: what comes now is news.
        try await front.heads(answered: 2)
        _ = try await service.publish([secret], notes: ["first"], "--then-broadcast")
        let first = try await front.flood(1)
        // The second look is for whatever came after the first began.
        try await front.heads(atLeast: first + 2)
        #expect(try await reports.atLeast(1).map(\.note) == ["first"])
        _ = try await service.publish([secret], notes: ["second"], "--then-broadcast")
        let second = try await front.flood(2)
        #expect(second - first <= 2)
        #expect(try await reports.atLeast(2).map(\.note) == ["first", "second"])
        try await client.settled()
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(reports.all.count == 2)
        #expect(ClientLines.unknown(running) == [])
    }
}

/// A front before a real service that says each of its wakes a thousand times within a second.
private final class FloodingFront: Sendable {
    private struct State {
        var heads = 0
        var answeredHeads = 0
        /// How many heads had been asked for when a flood began.
        var floods: [Int] = []
    }

    private static let bursts = 20
    private static let burst = 50

    private let state: Observed<State>
    private let server: WireServer

    init(to port: UInt16) throws {
        let state = Observed(State())
        self.state = state
        server = try WireServer { peer in
            while let request = WireRequest(from: peer) {
                if request.path == "/feed/head" { state.update { $0.heads += 1 } }
                guard let service = try? LoopbackClient(port: port),
                    (try? service.send(Array(request.head.utf8) + request.body)) != nil
                else { return }
                if request.path == "/v1/wakes" { return Self.flood(service, peer, state) }
                guard let answer = try? service.receiveResponse(),
                    (try? peer.send(Array(answer.head.utf8) + answer.body)) != nil
                else { return }
                if request.path == "/feed/head" { state.update { $0.answeredHeads += 1 } }
            }
        }
    }

    deinit { server.refuse() }

    var url: String { server.url }

    /// Waits for this flood's beginning.
    /// - Returns: how many heads had been asked for before it.
    func flood(_ number: Int) async throws -> Int {
        try await state.first { $0.floods.count >= number ? $0.floods[number - 1] : nil }
    }

    func heads(atLeast count: Int) async throws {
        try await state.first { $0.heads >= count ? () : nil }
    }

    func heads(answered count: Int) async throws {
        try await state.first { $0.answeredHeads >= count ? () : nil }
    }

    private static func flood(
        _ service: LoopbackClient, _ peer: LoopbackClient, _ state: Observed<State>
    ) {
        guard let head = try? service.receive(through: "\r\n\r\n"),
            (try? peer.send(Array(head.utf8))) != nil
        else { return }
        var events = 0
        while true {
            let text: String
            do {
                text = try service.receive(through: "\n\n")
            } catch LoopbackClient.Failure.timedOut {
                // A quiet stream.
                continue
            } catch {
                return
            }
            let isEvent = text.contains("event: wake")
            events += isEvent ? 1 : 0
            guard isEvent, events > 1 else {
                // The first is what everybody gets who connects.
                guard (try? peer.send(text)) != nil else { return }
                continue
            }
            state.update { $0.floods.append($0.heads) }
            let burst = String(repeating: text, count: Self.burst)
            for _ in 0..<Self.bursts {
                guard (try? peer.send(burst)) != nil else { return }
                // One burst every 48 ms: a thousand in a second.
                Tick.wait(milliseconds: 48)
            }
        }
    }
}

/// The pace of a peer on a thread of its own.
private enum Tick {
    static func wait(milliseconds: Int32) { poll(nil, 0, milliseconds) }
}
