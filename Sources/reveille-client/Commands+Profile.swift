import WakeClient
import WakeCommand
import WakeFiles

let initCommand = Command(
    "init", "make a profile for a feed",
    options: [
        .init("--feed", value: "URL", "the directory that holds the feed's head"),
        .init("--key", value: "KEY", "the feed's public key, 43 characters of base64url"),
        .init("--service", value: "URL", "the wake-up service, for stream and registration"),
        .init("--channel", value: "stream|poll", "how to learn of news; stream with a service"),
        .init("--proxy", value: "HOST:PORT", "a SOCKS5 proxy for everything, such as Tor"),
        .init("--daily-bytes", value: "N", "how many bytes of the feed a day may bring"),
        .init("--cache-megabytes", value: "N", "how much to keep of the past, 64 by default"),
        .init("--vapid", value: "KEY", "the service's public key for Web Push, 87 characters"),
    ] + Profile.options,
    examples: [
        "reveille-client init --feed https://feed.example/feed/ --key KEY",
        "reveille-client init --feed http://127.0.0.1:8080/feed/ --key KEY "
            + "--service http://127.0.0.1:8080 --state ./try",
    ]
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let feed = try invocation.required("--feed")
    let key = try invocation.required("--key")
    let service = invocation.value("--service")
    let channel = invocation.value("--channel")
    let proxy = invocation.value("--proxy")
    let dailyBytes = invocation.value("--daily-bytes")
    let cacheMegabytes = invocation.value("--cache-megabytes")
    let vapid = try Profile.vapidKey(invocation)
    let configuration = try Profile.configuration(
        feed: feed, key: key, service: service, channel: channel, proxy: proxy,
        dailyBytes: dailyBytes, cacheMegabytes: cacheMegabytes, in: profile)
    try profile.write(
        feed: feed, key: key, service: service, channel: channel, proxy: proxy,
        dailyBytes: dailyBytes, cacheMegabytes: cacheMegabytes, vapid: vapid)
    do throws(ClientError) {
        // Opens and closes the state once: what is wrong with the directory is said now.
        _ = try WakeClient(
            configuration, secrets: profile.secrets(), handler: ConsoleHandler(quiet: true))
    } catch {
        try? Files.remove(profile.configurationFile)
        throw CommandFailure(error)
    }
    return .success
}

let forgetCommand = Command(
    "forget", "remove a profile with everything in it",
    options: [
        .init("--force", "also when the service may still hold a registration")
    ] + Profile.options
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    let isForced = invocation.flag("--force")
    let client: WakeClient?
    do throws(ClientError) {
        // First, for it moves a damaged state aside.
        client = try WakeClient(
            configuration, secrets: profile.secrets(), handler: ConsoleHandler(quiet: true))
    } catch {
        // Whoever gives it up need not be able to read it. Nobody else works with it: the lock
        // was ours before the state was looked at.
        guard isForced, case .state(.newerVersion) = error else { throw CommandFailure(error) }
        client = nil
    }
    if let client {
        let farewell = try PushFarewell(profile, configuration)
        do throws(ClientError) {
            try await client.erase(force: isForced)
        } catch {
            throw CommandFailure(error)
        }
        _ = await farewell.say()
    }
    do throws(SecretDirectory.Fault) {
        let secrets = profile.secrets()
        for name in try secrets.names() { try secrets.remove(named: name) }
    } catch {
        throw CommandFailure(error)
    }
    do throws(FileError) {
        try profile.removeFiles()
    } catch {
        throw CommandFailure("the profile cannot be removed: \(error.reason)", status: .ioError)
    }
    return .success
}
