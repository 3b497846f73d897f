package import WakeModel

/// One line of a relay's answer.
package enum RelayLine: Sendable, Equatable {
    /// What became of a wake-up, by its place in the request.
    case delivery(wake: Int, Delivery)
    /// A gateway of the relay has stopped: its wake-ups without a line get none.
    case stopped(PushService, RelayStop)
    /// The last line: the number of wake-ups in the request.
    case done(Int)

    /// Bytes of a line at most, without its end.
    package static let maximumBytes = 256

    /// One line, with its end.
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
                    line.member("cause", string: cause.word)
                }
            }
        case .stopped(let service, let stop):
            Self.stopped(service, stop.isMisconfigured, cause: stop.word)
        case .done(let count): Self.line { $0.member("done", number: count) }
        }
    }

    /// The line for a gateway that failed, with its end.
    package static func stopped(_ service: PushService, _ failure: GatewayFailure) -> [UInt8] {
        switch failure {
        case .misconfigured: stopped(service, true, cause: failure.word)
        case .unavailable: stopped(service, false, cause: failure.word)
        }
    }

    private static func stopped(
        _ service: PushService, _ isMisconfigured: Bool, cause: StaticString
    ) -> [UInt8] {
        line { line in
            line.member("service", string: service.word)
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

    /// From a line without its end; nil for anything but one of the three. Causes that are not
    /// known are no fault: a later relay may have more of them.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes else { return nil }
        var members = RelayLineMembers()
        do {
            var scanner = try JSONScanner(bytes, depthLimit: 1)
            try scanner.document { (scanner) throws(JSONError) in try members.read(&scanner) }
        } catch {
            return nil
        }
        guard let line = members.line else { return nil }
        self = line
    }
}

/// Why a gateway of a relay has stopped, as far as it matters to who uses the relay.
package enum RelayStop: Sendable, Hashable, CaseIterable {
    /// The relay has no such gateway.
    case serviceOff
    case misconfigured
    case unavailable

    /// Whether it stays so until somebody changes something.
    var isMisconfigured: Bool { self != .unavailable }

    package var word: StaticString {
        switch self {
        case .serviceOff: "service-off"
        case .misconfigured: "misconfigured"
        case .unavailable: "unavailable"
        }
    }
}
