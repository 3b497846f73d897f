/// Everything the client ever logs. A closed list: no token, address, digest or secret can be in
/// it, because no case has a place for one.
public enum ClientEvent: Sendable, Equatable {
    /// `run` began.
    case started
    /// `run` ended.
    case stopped
    /// The event stream stands.
    case streamConnected
    /// The event stream ended and is tried again after so many seconds.
    case streamEnded(retrySeconds: Int)
    /// A cycle began.
    case cycleBegan
    /// A cycle ended well; so many batches were new.
    case cycleEnded(batches: Int)
    /// A cycle failed and is tried again after so many seconds.
    case cycleFailed(ClientError, retrySeconds: Int)
    /// So many kept batches could not be searched for a secret that was added later: they were
    /// damaged, and are dropped.
    case keptBatchesDamaged(Int)
    /// The service acknowledged the registration.
    case registered
    /// The service acknowledged the erasure and the instance token is wiped.
    case unregistered
    /// An attempt to register or unregister failed and is tried again after so many seconds.
    case registrationFailed(ClientError, retrySeconds: Int)
    /// The session bus knows us: a distributor can bring pushes.
    case busConnected
    /// There is no session bus, or it went away; tried again after so many seconds.
    case busLost(retrySeconds: Int)
    /// The distributor has told an endpoint.
    case pushesStand
    /// The distributor brought a push.
    case pushReceived
    /// A match was to be told and its handler failed; tried again after so many seconds.
    case tellingFailed(retrySeconds: Int)
}
