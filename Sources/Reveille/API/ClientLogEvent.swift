/// An event that the client logs: a closed list, without tokens, addresses, digests or secrets.
///
/// ```swift
/// var environment = ClientEnvironment.live
/// environment.log = { event in logger.info("\(event)") }
/// ```
public enum ClientLogEvent: Sendable, Equatable {
    /// `run` began.
    case started
    /// `run` ended.
    case stopped
    /// The event stream is open.
    case streamConnected
    /// The event stream ended and is tried again after this many seconds.
    case streamEnded(retrySeconds: Int)
    /// The service accepted the event stream and its first event did not come: a proxy on the way
    /// keeps it back. Tried again after this many seconds.
    case streamSilent(retrySeconds: Int)
    /// A cycle began.
    case cycleBegan
    /// A cycle succeeded; this many batches were new.
    case cycleEnded(batches: Int)
    /// A cycle failed and is tried again after this many seconds.
    case cycleFailed(ClientError, retrySeconds: Int)
    /// This many kept batches were damaged and dropped: they are not checked for a later secret.
    case keptBatchesDamaged(Int)
    /// The service acknowledged the registration.
    case registered
    /// The service acknowledged the erasure and the instance token is wiped.
    case unregistered
    /// The service wants a proof of work of so many bits; the client computes it.
    case registrationProof(bits: Int)
    /// An attempt to register or unregister failed and is tried again after this many seconds.
    case registrationFailed(ClientError, retrySeconds: Int)
    /// The session bus is connected: a distributor can bring pushes.
    case busConnected
    /// There is no session bus, or it went away; tried again after this many seconds.
    case busLost(retrySeconds: Int)
    /// The distributor gave an endpoint.
    case pushesRegistered
    /// The distributor brought a push.
    case pushReceived
    /// The handler of a match failed; tried again after this many seconds.
    case deliveryFailed(retrySeconds: Int)
}
