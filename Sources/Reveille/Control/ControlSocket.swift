import WakeSystem

/// The socket of a running client in its state directory, for other processes of the same user:
/// commands that changed the state say so, `status` and `test` get an answer.
package struct ControlSocket {
    enum Request: String {
        /// The state was changed. Has no answer.
        case changed
        /// The answer is `ClientStatus.json`.
        case status
        /// Delivers a planted match; the answer is `{"delivered":true}` or `{"delivered":false}`.
        case test
        /// Asks for one push; the answer is a `PushTestAnswer`.
        case push
    }

    private static let name = "control"

    private let socket: LocalSocket

    /// Nil when the socket cannot be made: the client then runs without.
    /// - Parameter onChange: called on any thread.
    init?(of client: WakeClient, in directory: String, onChange: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            // Weak: the socket's thread must not keep the profile's lock when the client has gone.
            socket = try LocalSocket(Self.name, in: directory) { [weak client] request, caller in
                guard let client else { return }
                switch Request(rawValue: String(decoding: request, as: UTF8.self)) {
                case .changed: onChange()
                case .status: Task { caller.answer(Array(await client.status.json.utf8)) }
                case .test:
                    Task {
                        let isDelivered = (try? await client.deliverTest()) ?? false
                        caller.answer(Array("{\"delivered\":\(isDelivered)}".utf8))
                    }
                case .push: Task { caller.answer(await client.answerPushTest()) }
                case nil: break
                }
            }
        } catch { return nil }
    }

    func close() { socket.close() }

    /// Tells the running client of this state directory, if there is one, that it was changed.
    static func notify(_ directory: String) {
        LocalSocket.ask(name, in: directory, Request.changed.rawValue, seconds: nil)
    }

    /// Whether the client that listens in this state directory answers within 5 s; nil for none.
    static func answers(in directory: String) -> Bool? {
        // An empty request has no effect.
        guard LocalSocket.ask(name, in: directory, "", seconds: nil) != nil else { return nil }
        return ask(.status, directory, seconds: 5) != nil
    }

    /// The answer of the running client; nil when none runs, or it does not answer in time.
    static func ask(_ request: Request, _ directory: String, seconds: UInt32) -> [UInt8]? {
        LocalSocket.ask(name, in: directory, request.rawValue, seconds: seconds)
    }
}
