/// Whether pushes come. When they do not, event stream and polling serve alone.
public enum UnifiedPushStatus: Sendable, Equatable {
    /// `run` does not run.
    case stopped
    /// There is no session bus, or it went away; tried again.
    case noBus
    /// Another process has our name on the bus; tried again.
    case nameTaken
    /// The distributor was not asked yet, or has not answered, or failed; tried again.
    case registering
    /// The distributor has told an endpoint: pushes come.
    case registered
    /// Somebody must do something.
    case failing(DistributorTrouble)
    /// The profile has given this distributor up.
    case givenUp
}
