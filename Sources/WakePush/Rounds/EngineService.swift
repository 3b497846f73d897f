import WakeModel

/// What a gateway that uses the engine supplies: where to send, as whom, and what answers mean.
/// APNs is one, FCM another.
protocol EngineService: Sendable {
    var service: PushService { get }

    /// Wake-ups with the engine at most.
    var window: Int { get }

    /// As whom to send now. Quick; asked about once a second and after every refusal.
    /// - Parameter whenChanged: called once, from any thread, when the answer is to wait for
    ///   something that has come to its end: then it is worth asking again at once.
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential

    /// - Parameter lifetime: seconds the push service keeps a wake-up for a device that is off.
    func engine(
        authorization: [UInt8], lifetime: Int, now: ClockReading
    ) -> EngineConfiguration

    /// Adds a push token in the form in which it completes the request.
    func append(_ token: PushToken, to batch: inout PushBatch)

    /// Bytes of that form, roughly.
    static var tokenBytes: Int { get }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict

    /// What answers said of the credential in use.
    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure)

    /// Wake-ups that the push service takes in a minute; nil when it names no number.
    var perMinute: Int? { get }

    /// Seconds to wait at least before a wake-up is tried again.
    static func leastWait(after cause: RetryCause) -> Int
}

extension EngineService {
    static func leastWait(after cause: RetryCause) -> Int { 0 }
}

/// A value of `authorization`, or a pause.
enum Credential: Sendable {
    /// `serial` is another for every other value.
    case value([UInt8], serial: Int)
    /// Nothing may be sent for so many seconds.
    case wait(seconds: Int)
}

/// What a number of answers said of the credential.
struct CredentialNews: OptionSet, Sendable {
    let rawValue: Int

    static let worked = CredentialNews(rawValue: 1)
    static let expired = CredentialNews(rawValue: 2)
    static let tooManyUpdates = CredentialNews(rawValue: 4)
}
