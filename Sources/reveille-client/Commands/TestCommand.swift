import Reveille
import WakeCommand
import WakeSystem

let testCommand = Command(
    "test", "show that a match would be reported, with one that no publisher sent",
    options: deliveryOptions + Profile.options,
    examples: [
        "reveille-client test", "reveille-client test --on-match /usr/local/bin/on-match",
    ],
    notes: """
        The client that runs reports it by its own ways; without one, the options say how. The name
        of the secret is `(test)`. No request is made, and nothing of it is kept. Exit status 0:
        it was accepted; 1: it was not, and a real match would be reported again later.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
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
