import WakeHTTP
import WakeModel
import WakePush

/// `POST /v1/relay/wakes`: self-hosted installations ask for wake-ups of push tokens that only this
/// service can wake.
struct RelayRoute: Sendable {
    let gate: RelayGate
    let desk: RelayDesk

    /// On the loop's thread: judges the head. Reading and passing on the body is the desk's.
    func handle(_ request: Request, _ exchange: Exchange) {
        guard request.method == .post else {
            return exchange.respond(.methodNotAllowed(allow: "POST"))
        }
        do throws(RelayProblem) {
            let visit = try gate.judge(request)
            desk.take(request, exchange, visit)
        } catch {
            desk.refuse(exchange, error)
        }
    }

    /// Bodies of this path may be larger than others', from installations that are allowed: a
    /// stranger is refused before the first byte of a body is read, and none of them takes all the
    /// room.
    var largeBodies: LargeBodies {
        LargeBodies(
            path: RelayRequest.path, bytes: RelayRequest.maximumBytes,
            atOnce: Limits.relayLargeBodies
        ) { [gate, desk] request in
            do throws(RelayProblem) {
                return .admitted(holding: try gate.expect(gate.judge(request)))
            } catch {
                return .refused(desk.answer(to: error))
            }
        }
    }
}
