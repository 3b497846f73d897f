import Synchronization
package import WakeFetch
import WakeModel

/// The service's side of registrations, as far as a client can tell: rows by instance token.
public final class SimulatedService: Sendable {
    private struct State {
        var rows: [String: [UInt8]] = [:]
        var mostRows = 0
        var puts = 0
        var deletes = 0
        var script: [SimulatedNetwork.Answer] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of registrations that it holds.
    public var registrationCount: Int { rows.count }

    /// Push tokens held, by nothing anybody could know.
    package var rows: [[UInt8]] { state.withLock { Array($0.rows.values) } }
    /// The most there ever were at a time.
    package var mostRows: Int { state.withLock { $0.mostRows } }
    package var puts: Int { state.withLock { $0.puts } }
    package var deletes: Int { state.withLock { $0.deletes } }

    /// Answers given to the next requests instead of 204; the work is done all the same when the
    /// answer is lost.
    package func answer(next: [SimulatedNetwork.Answer]) {
        state.withLock { $0.script += next }
    }

    /// Every answer is its own again.
    package func answerTruly() { state.withLock { $0.script = [] } }

    /// Answers the next requests with these statuses of HTTP, one for each, and does nothing; with
    /// this `Retry-After`, if any.
    public func refuse(next statuses: [Int], retryAfter: Duration? = nil) {
        let seconds = retryAfter.map { Int($0.components.seconds) }
        answer(next: statuses.map { .init(status: $0, retryAfter: seconds) })
    }

    /// Forgets all registrations, as after two generations without renewal.
    public func forgetAll() { state.withLock { $0.rows = [:] } }

    package func route(_ request: FetchRequest) -> SimulatedNetwork.Answer? {
        let scripted = state.withLock { state in
            state.script.isEmpty ? nil : state.script.removeFirst()
        }
        if scripted?.isUnsent == true { return nil }
        if let scripted, !scripted.isLost { return scripted }
        let answer = act(request)
        return scripted == nil ? answer : answer.lost()
    }

    private func act(_ request: FetchRequest) -> SimulatedNetwork.Answer {
        guard
            let field = request.fields.first(where: { $0.name.description == "Authorization" })
        else { return .init(status: 401) }
        let key = String(decoding: field.value, as: UTF8.self)
        return state.withLock { state in
            switch request.method {
            case .put:
                state.puts += 1
                guard let body = request.body,
                    let token = try? RegistrationBody(decoding: body).token
                else { return .init(status: 400) }
                state.rows[key] = token.text().copy()
                state.mostRows = max(state.mostRows, state.rows.count)
                return .init(status: 204, contentType: nil)
            case .delete:
                state.deletes += 1
                state.rows[key] = nil
                return .init(status: 204, contentType: nil)
            case .post: return .init(status: 202, contentType: nil)
            case .get:
                let answer = Self.registrationAnswer(state.rows[key])
                return .init(body: answer.encode(), contentType: .json)
            }
        }
    }

    private static func registrationAnswer(_ text: [UInt8]?) -> RegistrationResponse {
        let stored = text.flatMap { text in
            (try? PushToken(service: .fcm, text: text.span)).map {
                StoredRegistration(
                    generation: .current, id: [UInt8](repeating: 7, count: 32),
                    sealed: [UInt8](repeating: 9, count: 632), token: $0)
            }
        }
        return RegistrationResponse(stored: stored, policyHash: "00ff")
    }
}
