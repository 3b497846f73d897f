import Reveille
import WakeCommand
import WakeSystem

let testCommand = Command(
    "test", "show that a match would be reported, with one that no publisher sent",
    options: deliveryOptions + [.init("--push", "ask the service for one push, and wait for it")]
        + Profile.options,
    examples: [
        "reveille-client test", "reveille-client test --on-match /usr/local/bin/on-match",
        "reveille-client test --push",
    ],
    notes: """
        The client that runs reports it by its own ways; without one, the options say how. The name
        of the secret is `(test)`. No request is made, and nothing of it is kept. Exit status 0:
        it was accepted; 1: it was not, and a real match would be reported again later.

        With --push the client that runs asks the service for one push to this device, as often as
        once in ten minutes, and waits a minute for it. Exit status 0: a push arrived; 1: none did.
        An observer of the network can join the request and the push by their times.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    if invocation.flag("--push") { return try testPush(configuration) }
    if let isDelivered = try askRunning(configuration) {
        return try conclude(isDelivered, "the client that runs has reported")
    }
    let handler = ConsoleHandler(
        onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
        desktop: DesktopNotification(invocation))
    let isDelivered = try await mapClientError { () async throws(ClientError) in
        try await profile.client(configuration, handler: handler).deliverTest()
    }
    return try conclude(isDelivered, "this command has reported")
}

private func testPush(_ configuration: ClientConfiguration) throws(CommandFailure) -> ExitStatus {
    let answer = try mapError(CommandFailure.init) { () throws(ClientError) in
        try ProfileAccess(configuration).testPush()
    }
    switch answer {
    case .arrived(let seconds):
        Console().error("reveille-client: a push arrived after \(Report.seconds(seconds))")
        return .success
    case .lost:
        throw CommandFailure(
            "no push arrived within a minute",
            hint: "reveille-client doctor looks at what is between; without pushes, polls find "
                + "everything, later")
    case .failed(let text):
        let error = ClientError(text: text) ?? .network
        guard case .httpStatus(429, let wait) = error else { throw CommandFailure(error) }
        let minutes = wait.map { max(1, Int($0 / .seconds(60))) } ?? 10
        throw CommandFailure(
            "the service sends one test in ten minutes", hint: "try again in \(minutes) minutes")
    case nil:
        throw CommandFailure(
            "no client runs that a push could wake", hint: "start `reveille-client run` first",
            status: .transient)
    }
}

private func askRunning(
    _ configuration: ClientConfiguration
) throws(CommandFailure) -> Bool? {
    try mapError(CommandFailure.init) { () throws(ClientError) in
        try ProfileAccess(configuration).deliverTest()
    }
}

private func conclude(
    _ isDelivered: Bool, _ actor: String
) throws(CommandFailure) -> ExitStatus {
    guard isDelivered else {
        throw CommandFailure(
            "the planted match was not taken",
            hint: "a real one would be reported again later, until it is taken")
    }
    Console().error("reveille-client: \(actor) a planted match")
    return .success
}
