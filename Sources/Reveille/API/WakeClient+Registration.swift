/// What an app asks of the service: to be woken, or to be forgotten. Both are stored as desired
/// before the first request, and survive every restart.
///
/// ```swift
/// switch try await client.register(token) {
/// case .registered: print("Pushes wake this device.")
/// case .suspended: print("The publisher has switched registrations off for now.")
/// default: print("The service will be asked again.")
/// }
/// ```
extension WakeClient {
    /// Stores the push token as desired, and tries to register it once an attempt that is under
    /// way has ended; `run` keeps trying, and renews.
    public func register(_ token: AppPushToken) async throws(ClientError) -> RegistrationState {
        try registration.register(token)
        return try await reconciledState()
    }

    /// Stores as desired that the service holds nothing about this client, and tries once. `run`
    /// keeps trying; once acknowledged, no byte of the instance token is left on this device.
    public func unregister() async throws(ClientError) -> RegistrationState {
        try registration.unregister()
        return try await reconciledState()
    }

    /// Tries once, and says how far that came.
    private func reconciledState() async throws(ClientError) -> RegistrationState {
        try await onTaskExecutor { () async throws(ClientError) in
            try await registration.reconcileInTurn()
        }
        return try registration.state()
    }

    /// Asks the service for one push to this device and waits until it arrives, a minute at most: a
    /// push of a broadcast that comes meanwhile counts as well. The app hands pushes over by
    /// ``wake(_:)`` as usual. `reveille-client doctor` tells of the last test.
    /// - Returns: the time that it took; nil when no push came.
    /// - Throws: `notRegistered` without a registration; `httpStatus` with 429 when the last test
    ///   was less than ten minutes ago; or the failure of the request.
    public func testPush() async throws(ClientError) -> Duration? {
        try await onTaskExecutor { () async throws(ClientError) in
            let (asked, start, before) = (
                environment.wallSeconds(), environment.uptime(), wakes.pushes
            )
            try await registration.askForPush()
            var time = Duration.zero
            while wakes.pushes == before, time < PushTest.patience, !Task.isCancelled {
                await wakes.pushed.wait(for: PushTest.patience - time, in: environment)
                time = environment.uptime() - start
            }
            guard !Task.isCancelled else { throw .cancelled }
            let delay = wakes.pushes == before ? nil : time
            try profile.note(PushTest(asked: asked, delay: delay))
            return delay
        }
    }

    /// Asks the service for everything it holds about this client.
    /// - Throws: `notRegistered` without a registration, or the failure of the request.
    public func storedRegistration() async throws(ClientError) -> HeldRegistration {
        try await onTaskExecutor { () async throws(ClientError) in
            try await registration.held()
        }
    }
}
