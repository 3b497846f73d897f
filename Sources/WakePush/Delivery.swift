package import WakeModel
import WakeSystem

/// The result of one wake-up. Never about the gateway itself: that is ``GatewayFailure``.
package enum Delivery: Sendable, Hashable {
    /// The push service accepted it.
    case accepted
    /// The push token is no longer valid: its registration may be deleted, if still the same.
    case gone
    /// The push service accepts others and calls this push token none of its own: its registration
    /// may be deleted, if still the same. Anybody may register such tokens, so their number says
    /// nothing.
    case invalid
    /// Neither: try again later, give up for the round in the end, delete nothing.
    case retry(RetryCause)
}

/// The reason why a wake-up may be tried again; it decides the wait.
package enum RetryCause: String, Sendable, CaseIterable {
    /// The push service is overloaded, or has too many wake-ups for this push token.
    case throttled
    /// The push service failed or shuts down.
    case serviceFault = "service-fault"
    /// The connection broke, was reset, or stalled: the wake-up may have arrived.
    case connectionFault = "connection-fault"
    /// The provider token is too old for the push service: a new one is needed first.
    case providerTokenExpired = "provider-token-expired"
    /// The push service has seen too many new provider tokens: none may be minted for a while.
    case providerTokenUpdates = "provider-token-updates"
    /// An answer blamed the gateway, though few in a row do.
    case gatewayBlamed = "gateway-blamed"
    /// A refusal this program does not know, on a connection that works for others.
    case unknownRefusal = "unknown-refusal"
    /// Another broadcast was due before it could be tried again.
    case superseded
    /// It may have had three pushes within an hour.
    case hourlyLimit = "hourly-limit"
    /// The endpoint may not be sent to: its form, its host, or an address of that.
    case endpointRefused = "endpoint-refused"
}

/// The end of a gateway's round: nothing is deleted, the operator is informed. Of this and every
/// fault below `name` is for logs and metrics, and `message` has two lines: the fault, and a hint.
package enum GatewayFailure: Error, Sendable, Hashable {
    /// Lasts until the operator changes something.
    case misconfigured(Misconfiguration)
    /// May pass by itself: the next round tries again.
    case unavailable(Unavailability, PushService)

    /// Holds constants and numbers only.
    package var message: String {
        switch self {
        case .misconfigured(let fault): fault.message
        case .unavailable(let reason, let service):
            "\(service.name): \(reason.message(for: service))"
        }
    }

    /// Whether it may pass before the operator changes or installs anything.
    package var mayPass: Bool {
        switch self {
        case .misconfigured, .unavailable(.libraryMissing, _): false
        case .unavailable: true
        }
    }

    package var name: StaticString {
        switch self {
        case .misconfigured(.apns(let fault)): fault.name
        case .misconfigured(.fcm(let fault)): fault.name
        case .misconfigured(.webPush(let fault)): fault.name
        case .misconfigured(.relay(let fault, _)): fault.name
        case .misconfigured(.connection(let fault, _)): fault.name
        case .misconfigured(.providerToken): "provider-token"
        case .misconfigured(.engine(let error, _)): error.name
        case .unavailable(let reason, _): reason.name
        }
    }
}

extension GatewayFailure {
    /// Why the push service ended the last connection, if that is why the gateway stopped.
    package var goAway: GoAwayReason? {
        if case .unavailable(.closed(let reason), _) = self { reason } else { nil }
    }
}

/// A fault that the operator has to correct.
package enum Misconfiguration: Sendable, Hashable {
    case apns(APNsFault)
    case fcm(FCMFault)
    case webPush(WebPushFault)
    /// The relay that these push tokens go through.
    case relay(RelayFault, PushService)
    /// No connection can be trusted.
    case connection(ConnectionFault, PushService)
    /// The provider token cannot be read, made or kept.
    case providerToken(ProviderTokenError)
    /// Nothing can be sent from this machine.
    case engine(PushEngineError, PushService)

    package var message: String {
        switch self {
        case .apns(let fault): fault.message
        case .fcm(let fault): fault.message
        case .webPush(let fault): fault.message
        case .relay(let fault, let service): "\(service.name): \(fault.message)"
        case .connection(let fault, let service): "\(service.name): \(fault.message)"
        case .providerToken(let error): error.message
        case .engine(let error, let service): "\(service.name): \(error.message)"
        }
    }
}

/// The reason why no connection to a reachable push service is used.
package enum ConnectionFault: Sendable, Hashable {
    /// OpenSSL's number (X509_V_ERR_*, verify(1)).
    case certificate(Int)
    case handshake, noHTTP2

    package var name: StaticString {
        switch self {
        case .certificate: "certificate"
        case .handshake: "handshake"
        case .noHTTP2: "no-http2"
        }
    }

    var message: String {
        switch self {
        case .certificate(let number):
            "the certificate of the push service was refused: \(Self.reason(number)) "
                + "(OpenSSL verification error \(number)); nothing was sent\n"
                + "hint: check host and ca of this gateway, this machine's clock, and that "
                + "ca-certificates is installed"
        case .handshake:
            "no TLS 1.2 or later with the push service; nothing was sent\n"
                + "hint: check host and port of this gateway, and what stands in between"
        case .noHTTP2:
            "the far end does not speak HTTP/2; nothing was sent\n"
                + "hint: check host and port of this gateway, and what stands in between"
        }
    }

    /// verify(1): the errors that operators meet.
    private static func reason(_ number: Int) -> StaticString {
        switch number {
        case 9: "it is not valid yet"
        case 10: "it has expired"
        case 18: "it is signed by itself"
        case 19, 20, 21: "its authority is not trusted"
        case 62: "it is for another host name"
        case 64: "it is for another address"
        default: "it does not verify"
        }
    }
}

/// The reason why a push service cannot be used now.
package enum Unavailability: Sendable, Hashable {
    case unreachable, unknownHost, pushback, noAccessToken, providerTokenUpdates, libraryMissing
    /// Of the relay, and of the relay's own gateway.
    case relayUnreachable, relayUnknownHost, relayFailing, relayStopped
    /// Unreachable, and the last connection was ended by the push service.
    case closed(GoAwayReason)

    package var name: StaticString {
        switch self {
        case .unreachable, .closed: "unreachable"
        case .unknownHost: "unknown-host"
        case .pushback: "pushback"
        case .noAccessToken: "no-access-token"
        case .providerTokenUpdates: "provider-token-updates"
        case .relayUnreachable: "relay-unreachable"
        case .relayUnknownHost: "relay-unknown-host"
        case .relayFailing: "relay-failing"
        case .relayStopped: "relay-stopped"
        case .libraryMissing: "library-missing"
        }
    }

    func message(for service: PushService) -> String {
        switch self {
        // Web Push goes to many hosts, none of which its section names.
        case .unreachable where service == .webPush:
            "no push service can be reached\nhint: check the network, and [webpush] connect, if "
                + "set; the next round tries again"
        case .unknownHost where service == .webPush:
            "no host name of a push service resolves\n"
                + "hint: check this machine's name service; the next round tries again"
        case .unreachable:
            "the push service cannot be reached\nhint: check the network, and host and port of "
                + "this gateway; the next round tries again"
        case .closed(let reason):
            "the push service cannot be reached; last GOAWAY: \(reason.rawValue)\n"
                + "hint: the name is of RFC 9113, section 7, or of Apple's table of responses; "
                + "check host and port of this gateway; the next round tries again"
        case .unknownHost:
            "the host name of the push service does not resolve\n"
                + "hint: check this machine's name service, and host of this gateway"
        case .pushback:
            "the push service refused everything as too much or broken for minutes\n"
                + "hint: nothing was deleted; the next round tries again"
        case .noAccessToken:
            "no access token could be had for minutes\nhint: check the network, and token_uri in "
                + "the file of key; the next round tries again"
        case .providerTokenUpdates:
            "the push service says that provider tokens change too often: it is asked again after "
                + "pauses of up to a minute\nhint: check that no other program uses the key of "
                + "this gateway, and this machine's clock"
        case .relayUnreachable:
            "the relay cannot be reached; it is asked again every half minute\nhint: check the "
                + "network, and via of this gateway, or ask the relay's owner"
        case .relayUnknownHost:
            "the host name of the relay does not resolve\n"
                + "hint: check this machine's name service, and via of this gateway"
        case .relayFailing:
            "the relay, or a server in front of it, refuses everything as too much or broken; it "
                + "is asked again every half minute\nhint: ask the relay's owner"
        case .relayStopped:
            "the relay's own gateway to this push service cannot be used now\nhint: nothing was "
                + "deleted; the next round tries again; if it stays, ask the relay's owner"
        case .libraryMissing:
            "a library of the system cannot be loaded\n"
                + "hint: reveille check names it and its package; then start the service again"
        }
    }
}

/// The meaning of one answer of a push service: for the wake-up, the gateway, or either.
package enum Verdict: Sendable, Hashable {
    case delivery(Delivery)
    case failure(GatewayFailure)
    /// `then` once the connection has accepted another wake-up of the round; a failure if it never
    /// does, see ``ProvisionalAnswers``.
    case ambiguous(then: Delivery, or: Misconfiguration)

    var isAcceptedOrRetried: Bool { self == .delivery(.accepted) || isRetried }
    var isRetried: Bool { if case .delivery(.retry) = self { true } else { false } }
}
