/// A front before a real service that fails as told and forwards everything else.
package final class FaultyFront: Sendable {
    /// What happens to one request.
    package enum Fault: Sendable, Equatable {
        /// The service never sees it; the answer is this status.
        case answered(Int)
        /// The service sees it and answers, and the answer is lost.
        case answerLost
    }

    private struct State {
        var faults: [String: [Fault]] = [:]
        var requests: [WireRequest] = []
        var answered: [WireRequest] = []
        var lastAnswer = ContinuousClock.now
        /// Times from the last answer to the end of a connection.
        var lingers: [Duration] = []
    }

    private let state: Observed<State>
    private let server: WireServer

    /// - Parameters:
    ///   - port: of the real service.
    ///   - fields: whole lines, added to the head of every answer.
    ///   - arrival: called for every request before anything is done with it.
    package init(
        to port: UInt16, adding fields: String = "",
        onArrival arrival: @escaping @Sendable (WireRequest) -> Void = { _ in }
    ) throws {
        let state = Observed(State())
        self.state = state
        server = try WireServer { peer in
            Self.relay(peer, to: port, state, adding: fields, arrival)
            state.update { $0.lingers.append(ContinuousClock.now - $0.lastAnswer) }
        }
    }

    deinit { server.refuse() }

    package var url: String { server.url }

    /// The next requests with this method meet these faults, in this order.
    package func plan(_ method: String, _ faults: [Fault]) {
        state.update { $0.faults[method, default: []] += faults }
    }

    /// As a device without a network sees it: connections are refused, the open ones are gone.
    package func disconnect() { server.refuse() }

    package func reconnect() throws { try server.admit() }

    /// The requests so far, answered or not.
    package var requests: [WireRequest] { state.value.requests }

    /// Those that the service itself has answered so far.
    package var answered: [WireRequest] { state.value.answered }

    /// Waits until so many requests with this method have come.
    package func requests(_ method: String, atLeast count: Int) async throws {
        try await state.first { state in
            state.requests.count { $0.method == method } >= count ? () : nil
        }
    }

    /// Answers of the service that were passed on, streams apart.
    package var answers: Int { state.value.answered.count }

    /// Waits until at least `count` answers were passed on.
    package func answers(atLeast count: Int) async throws {
        try await state.first { $0.answered.count >= count ? () : nil }
    }

    /// Waits until so many connections have ended; returns the times since the last answer.
    package func lingers(atLeast count: Int) async throws -> [Duration] {
        try await state.first { $0.lingers.count >= count ? $0.lingers : nil }
    }

    private static func relay(
        _ peer: LoopbackClient, to port: UInt16, _ state: Observed<State>,
        adding fields: String, _ arrival: (WireRequest) -> Void
    ) {
        while let request = WireRequest(from: peer) {
            let fault = state.update { state -> Fault? in
                state.requests.append(request)
                guard let next = state.faults[request.method]?.first else { return nil }
                state.faults[request.method]?.removeFirst()
                return next
            }
            arrival(request)
            if case .answered(let status) = fault {
                let head = "HTTP/1.1 \(status) Fault\r\n\(fields)Content-Length: 0\r\n\r\n"
                guard (try? peer.send(head)) != nil else { return }
                continue
            }
            guard let service = try? LoopbackClient(port: port),
                (try? service.send(Array(request.head.utf8) + request.body)) != nil
            else { return }
            if request.path == "/v1/wakes" {
                return relayStream(from: service, to: peer, adding: fields)
            }
            guard let answer = try? service.receiveResponse(), fault != .answerLost else { return }
            // Before it is sent: measured times are never too short.
            state.update { $0.lastAnswer = .now }
            guard
                (try? peer.send(Array(with(fields, answer.head).utf8) + answer.body)) != nil
            else { return }
            state.update { $0.answered.append(request) }
        }
    }

    /// The head with these lines after its first.
    private static func with(_ fields: String, _ head: String) -> String {
        guard !fields.isEmpty, let end = head.firstIndex(of: "\r\n") else { return head }
        return head[...end] + fields + head[head.index(after: end)...]
    }

    private static func relayStream(
        from service: LoopbackClient, to peer: LoopbackClient, adding fields: String
    ) {
        guard let head = try? service.receive(through: "\r\n\r\n"),
            (try? peer.send(Array(with(fields, head).utf8))) != nil
        else { return }
        while true {
            do {
                let bytes = try service.receive()
                guard !bytes.isEmpty else { return }
                try peer.send(bytes)
            } catch LoopbackClient.Failure.timedOut {
                // A quiet stream.
            } catch {
                return
            }
        }
    }
}
