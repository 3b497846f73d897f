import Reveille
import WakeCommand
import WakeSystem

let initCommand = Command(
    "init", "make a profile for a feed",
    options: [
        .init("--feed", value: "URL", "the directory that holds the feed's head"),
        .init("--key", value: "KEY", "the feed's public key, 43 characters of base64url"),
        .init("--service", value: "URL", "the wake-up service, for stream and registration"),
        .init(
            "--oblivious", value: "URL",
            "a relay that hides the address from the service where it registers"),
        .init("--channel", value: "stream|poll", "how to learn of news; stream with a service"),
        .init("--proxy", value: "HOST:PORT", "a SOCKS5 proxy for everything, such as Tor"),
        .init("--daily-bytes", value: "N", "how many bytes of the feed a day may bring"),
        .init("--cache-megabytes", value: "N", "how much to keep of the past, 64 by default"),
        .init("--vapid", value: "KEY", "the service's public key for Web Push, 87 characters"),
        .init(
            "--witnesses", value: "FILE",
            "the policy of witnesses: believe no head without their cosignatures"),
    ] + Profile.options,
    examples: [
        "reveille-client init --feed https://feed.example/feed/ --key KEY",
        "reveille-client init --feed http://127.0.0.1:8080/feed/ --key KEY "
            + "--service http://127.0.0.1:8080 --state ./try",
    ]
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    var values = [
        "feed": try invocation.required("--feed"), "key": try invocation.required("--key"),
    ]
    for key in ProfileFile.keys.dropFirst(2) { values[key] = invocation.value("--" + key) }
    values["witnesses"] = try invocation.path("--witnesses")
    _ = try ProfilePushes.vapidKey(invocation)
    let configuration = try ProfileFile.configuration(values, of: profile)
    try ProfileFile(profile: profile).create(values)
    do throws(ClientError) {
        // Opens and closes the state once, to report faults of the directory now.
        _ = try profile.client(configuration)
    } catch {
        try? Files.remove(profile.configurationFile)
        throw CommandFailure(error)
    }
    let path = configuration.feed.split(separator: "/", maxSplits: 2).dropFirst(2).first ?? ""
    if path.isEmpty {
        Console().error(
            "hint: this feed's URL has no path; Reveille's own fronts serve the feed below /feed/."
                + " `doctor` shows whether it is there")
    }
    return .success
}

let profilesCommand = Command(
    "profiles", "list the profiles, one name a line",
    options: [.init("--json", "as JSON")], examples: ["reveille-client profiles"],
    notes: "Profiles made with --state are not among them: only you know where those are."
) { invocation throws(CommandFailure) in
    Report.show(try Profile.names(), as: "profiles", json: invocation.flag("--json"))
    return .success
}

let startOverCommand = Command(
    "start-over", "check the feed again from its oldest batch: the way out of a fork",
    options: Profile.options,
    notes: """
        First compare the fingerprint that status shows with that of others, and with the
        publisher's. The feed served now is believed again. Secrets, registration and evidence stay,
        and a match that was reported is not reported again.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    try await mapClientError { () async throws(ClientError) in
        try await profile.client(configuration).startOver()
    }
    return .success
}

let forgetCommand = Command(
    "forget", "remove a profile with everything in it",
    options: [.init("--force", "also when the service may still hold a registration")]
        + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let isForced = invocation.flag("--force")
    let client: WakeClient?
    do throws(ClientError) {
        // First, for it moves a damaged state aside.
        client = try profile.client(configuration)
    } catch {
        // The state need not be readable to be removed. No other process works with it: the lock
        // was ours before the state was examined.
        guard isForced, case .state(.otherVersion) = error else { throw CommandFailure(error) }
        client = nil
    }
    if let client {
        let unregistration = try DistributorUnregistration(profile, configuration)
        try await mapClientError { () async throws(ClientError) in
            try await client.erase(force: isForced)
        }
        _ = await unregistration.send()
    }
    try mapError(CommandFailure.init) { () throws(SecretDirectory.Fault) in
        try profile.secrets().removeAll()
    }
    try mapError({ CommandFailure("the profile cannot be removed", $0, .ioError) }) {
        () throws(FileError) in try profile.removeFiles()
    }
    return .success
}
