package import WakeModel
import WakeSystem

/// One line of a relay's response (JSON Lines).
package enum RelayLine: Sendable, Equatable {
    /// The delivery of a wake-up, by its position in the request. After a connection fault it may
    /// have arrived; the relay has not sent it again.
    case delivery(wake: Int, Delivery)
    /// A gateway of the relay has stopped: its wake-ups without a line get none.
    case stopped(PushService, RelayStop)
    /// The last line: the number of wake-ups in the request.
    case done(Int)

    var isOfWakeUp: Bool { if case .delivery = self { true } else { false } }

    /// The most bytes of a line, without its end.
    package static let maximumBytes = 256

    /// The line, with its end.
    package var text: [UInt8] {
        switch self {
        case .delivery(let wake, let delivery):
            Self.line { line in
                line.member("wake", number: wake)
                switch delivery {
                case .accepted: line.member("delivery", string: "accepted")
                case .gone: line.member("delivery", string: "gone")
                case .invalid: line.member("delivery", string: "invalid")
                case .retry(let cause):
                    line.member("delivery", string: "retry")
                    line.member("cause", string: cause.rawValue)
                }
            }
        case .stopped(let service, let stop):
            Self.stopped(service, isMisconfigured: stop != .unavailable, cause: stop.rawValue)
        case .done(let count): Self.line { $0.member("done", number: count) }
        }
    }

    /// The line for a gateway that failed, with its end.
    package static func stopped(_ service: PushService, _ failure: GatewayFailure) -> [UInt8] {
        let isMisconfigured = if case .misconfigured = failure { true } else { false }
        return stopped(
            service, isMisconfigured: isMisconfigured, cause: failure.name.description)
    }

    private static func stopped(
        _ service: PushService, isMisconfigured: Bool, cause: String
    ) -> [UInt8] {
        line { line in
            line.member("service", string: service.name)
            line.member("stopped", string: isMisconfigured ? "misconfigured" : "unavailable")
            line.member("cause", string: cause)
        }
    }

    private static func line(_ members: (inout JSONText) -> Void) -> [UInt8] {
        var line = JSONText(capacity: 64)
        line.beginObject()
        members(&line)
        line.endObject()
        return line.bytes + [0x0A]
    }

    /// Parses a line without its end, or nil. Accepts unknown causes: a later relay may have more.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes,
            let line = try? JSONValue(parsing: bytes, depthLimit: 1),
            case .object(let members) = line
        else { return nil }
        switch members.keys.sorted() {
        case ["done"]:
            guard let count = line["done"].integer, count >= 0 else { return nil }
            self = .done(count)
        case ["delivery", "wake"], ["cause", "delivery", "wake"]:
            guard let wake = line["wake"].integer, wake >= 0,
                let delivery = Self.delivery(line["delivery"].text, cause: members["cause"])
            else { return nil }
            self = .delivery(wake: wake, delivery)
        case ["cause", "service", "stopped"]:
            guard case .string(let name) = line["service"], case .string = line["cause"],
                let service = PushService(name: name.span)
            else { return nil }
            switch (line["stopped"].text, line["cause"].text) {
            case ("unavailable", _): self = .stopped(service, .unavailable)
            case ("misconfigured", "service-off"): self = .stopped(service, .serviceOff)
            case ("misconfigured", _): self = .stopped(service, .misconfigured)
            default: return nil
            }
        default: return nil
        }
    }

    private static func delivery(_ name: String, cause: JSONValue?) -> Delivery? {
        switch (name, cause) {
        case ("accepted", nil): .accepted
        case ("gone", nil): .gone
        case ("invalid", nil): .invalid
        case ("retry", .string(let cause)):
            .retry(RetryCause(rawValue: String(decoding: cause, as: UTF8.self)) ?? .unknownRefusal)
        default: nil
        }
    }
}

/// The reason why a gateway of a relay has stopped: the cause on the wire.
package enum RelayStop: String, Sendable, CaseIterable {
    /// The relay has no such gateway.
    case serviceOff = "service-off"
    case misconfigured
    case unavailable
}
