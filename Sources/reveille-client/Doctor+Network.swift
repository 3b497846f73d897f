import WakeClient
import WakeCommand

/// What the network and those on it say.
extension Doctor {
    /// Whether requests can be made at all, for profiles that cannot be examined further.
    func library() -> Finding {
        do throws(ClientError) {
            try ProfileExamination.checkLibrary()
            return Self.libraryIsThere
        } catch {
            return Self.failure("libcurl", error)
        }
    }

    private static let libraryIsThere = Finding.ok("libcurl", "it can be loaded")

    func network(
        _ examination: ProfileExamination, _ configuration: ClientConfiguration
    ) async -> [Finding] {
        let carrier: ProfileExamination.Carrier
        do throws(ClientError) {
            carrier = try examination.carrier()
        } catch {
            return [Self.failure("libcurl", error)]
        }
        var findings = [Self.libraryIsThere]
        do throws(ClientError) {
            findings += Self.findings(try await examination.feed(by: carrier))
        } catch {
            findings.append(Self.failure("feed", error))
        }
        do throws(ClientError) {
            if let stream = try await examination.stream(by: carrier) {
                findings.append(.ok("service", "it answers"))
                findings.append(Self.finding(stream, configuration.channel))
            }
        } catch {
            findings.append(Self.failure("service", error))
        }
        return findings
    }

    private static func findings(_ feed: ProfileExamination.Feed) -> [Finding] {
        var text = "signed, at batch \(feed.sequence)"
        if feed.unchecked > 0 { text += ", \(feed.unchecked) not checked yet" }
        var findings = [
            feed.isExpired
                ? Finding.warning(
                    "feed", text + ", but its head has expired",
                    hint: "the publisher is silent, or somebody holds newer heads back")
                : .ok("feed", text)
        ]
        let tolerance: Int64 = 600
        if let ahead = feed.serverAhead, abs(ahead) > tolerance {
            findings.append(
                .warning(
                    "clock",
                    "\(abs(ahead)) s \(ahead > 0 ? "behind" : "ahead of") the feed's server",
                    hint: "set the clock: timedatectl set-ntp true"))
        } else if feed.isFromFuture {
            findings.append(
                .warning(
                    "clock", "\(-feed.age) s behind the feed's head",
                    hint: "set the clock: timedatectl set-ntp true"))
        } else {
            findings.append(.ok("clock", "the head was signed \(max(0, feed.age)) s ago"))
        }
        return findings
    }

    private static func finding(
        _ stream: ProfileExamination.Stream, _ channel: ClientConfiguration.Channel
    ) -> Finding {
        let hint =
            channel == .stream
            ? "until it works, polling finds what is new" : "this profile polls and needs none"
        return switch stream {
        case .works: .ok("stream", "it stands and speaks")
        case .refused(let status):
            .warning("stream", "the service answered \(status) and no stream", hint: hint)
        case .silent: .warning("stream", "it ended without a word", hint: hint)
        }
    }
}
