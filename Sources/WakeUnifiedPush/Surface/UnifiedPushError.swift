public import WakeClient

/// Why a connector could not be made, or a distributor not be asked.
public enum UnifiedPushError: Error, Sendable, Equatable {
    /// Not a name that a program may have on the session bus, or not one of a distributor.
    case name
    /// The description is longer than 100 bytes.
    case description
    /// Not a point on P-256, uncompressed, as 87 characters of base64url.
    case vapidKey
    /// There is no session bus here, or it does not answer.
    case noBus
    /// The distributor is not there and cannot be started, or does not answer.
    case distributor
    /// The client's state.
    case client(ClientError)
}
