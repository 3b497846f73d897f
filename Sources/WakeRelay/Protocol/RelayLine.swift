package import WakeModel
package import WakePush
import WakeSystem

/// One line of a relay's response (JSON Lines).
package enum RelayLine: Sendable, Equatable {
    /// The delivery of a wake-up, by its position in the request.
    case delivery(wake: Int, Delivery)
    /// A gateway of the relay has stopped: its wake-ups without a line get none.
    case stopped(PushService, RelayStop)
    /// The last line: the number of wake-ups in the request.
    case done(Int)

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
                case .retry(let cause):
                    line.member("delivery", string: "retry")
                    line.member("cause", string: cause.rawValue)
                }
            }
        case .stopped(let service, let stop):
            Self.stopped(service, isMisconfigured: stop != .unavailable, cause: stop.name)
        case .done(let count): Self.line { $0.member("done", number: count) }
        }
    }

    /// The line for a gateway that failed, with its end.
    package static func stopped(_ service: PushService, _ failure: GatewayFailure) -> [UInt8] {
        switch failure {
        case .misconfigured: stopped(service, isMisconfigured: true, cause: failure.name)
        case .unavailable: stopped(service, isMisconfigured: false, cause: failure.name)
        }
    }

    private static func stopped(
        _ service: PushService, isMisconfigured: Bool, cause: StaticString
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

    /// Parses a line without its end; nil for anything but one of the three. Unknown causes are
    /// accepted: a later relay may have more of them.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes, let line = try? RelayLineMembers(bytes).line else {
            return nil
        }
        self = line
    }
}

/// The reason why a gateway of a relay has stopped, as far as a client needs it.
package enum RelayStop: Sendable, Hashable, CaseIterable {
    /// The relay has no such gateway.
    case serviceOff
    case misconfigured
    case unavailable

    /// The cause on the wire.
    package var name: StaticString {
        switch self {
        case .serviceOff: "service-off"
        case .misconfigured: "misconfigured"
        case .unavailable: "unavailable"
        }
    }
}

/// The members of one line while it is parsed.
private struct RelayLineMembers {
    private var wake: Int?
    private var done: Int?
    private var delivery: [UInt8]?
    private var cause: [UInt8]?
    private var service: [UInt8]?
    private var stopped: [UInt8]?
    private var count = 0

    init(_ bytes: [UInt8]) throws(JSONError) {
        try JSONScanner.readObject(bytes, depthLimit: 1) { scanner, name throws(JSONError) in
            count += 1
            if name.span.equals("wake") {
                wake = try scanner.integer()
            } else if name.span.equals("done") {
                done = try scanner.integer()
            } else if name.span.equals("delivery") {
                delivery = try scanner.string()
            } else if name.span.equals("cause") {
                cause = try scanner.string()
            } else if name.span.equals("service") {
                service = try scanner.string()
            } else if name.span.equals("stopped") {
                stopped = try scanner.string()
            } else {
                throw .unknownMember
            }
        }
    }

    /// nil unless these are exactly the members of one kind of line.
    var line: RelayLine? {
        if let done { return count == 1 && done >= 0 ? .done(done) : nil }
        if let wake, let delivery {
            guard wake >= 0, let delivery = parsed(delivery) else { return nil }
            return .delivery(wake: wake, delivery)
        }
        guard let service, let stopped, let cause, count == 3,
            let service = PushService(name: service.span), let stop = Self.stop(stopped, cause)
        else { return nil }
        return .stopped(service, stop)
    }

    private func parsed(_ name: [UInt8]) -> Delivery? {
        if name.span.equals("accepted") { return count == 2 ? .accepted : nil }
        if name.span.equals("gone") { return count == 2 ? .gone : nil }
        guard name.span.equals("retry"), let cause, count == 3 else { return nil }
        let known = RetryCause(rawValue: String(decoding: cause, as: UTF8.self))
        return .retry(known ?? .unknownRefusal)
    }

    private static func stop(_ name: [UInt8], _ cause: [UInt8]) -> RelayStop? {
        if name.span.equals("unavailable") { return .unavailable }
        guard name.span.equals("misconfigured") else { return nil }
        return cause.span.equals("service-off") ? .serviceOff : .misconfigured
    }
}
