import Reveille
import WakeCommand
import WakeModel
import WakeSystem

/// Checks of the files of a profile, and of the room for them.
struct ProfileChecks {
    let profile: Profile

    func findings(_ configuration: ClientConfiguration) -> [Finding] {
        let state =
            Self.check(profile.stateDirectory, "state-directory")
            ?? .ok("state-directory", "for its owner alone")
        return [state, cacheDirectory(), secrets()] + disk(configuration)
    }

    private func cacheDirectory() -> Finding {
        let subject = "cache-directory"
        guard Files.exists(profile.cacheDirectory) else { return .ok(subject, "not there yet") }
        guard let finding = Self.check(profile.cacheDirectory, subject) else {
            return .ok(subject, "for its owner alone")
        }
        // The client works without a cache.
        return .warning(
            subject, finding.text + "; nothing is kept for secrets added later", hint: finding.hint)
    }

    /// nil when nobody else can reach the directory or file.
    private static func check(
        _ path: String, _ subject: String, isFile: Bool = false
    ) -> Finding? {
        let status: FileStatus
        do throws(FileError) {
            status = try isFile ? FileStatus(of: path) : FileStatus(ofDirectory: path)
        } catch {
            return .failed(
                subject, "it cannot be looked at: \(error.reason)",
                hint: Files.exists(path)
                    ? "it is a symbolic link: see where it leads" : "see who owns what is above it")
        }
        let isRight = isFile ? status.isRegular : status.isDirectory
        if status.isPrivate, isRight { return nil }
        guard isRight else {
            let kind = isFile ? "file" : "directory"
            let link = "it is \(isFile ? "a" : "another user's") symbolic link"
            return .failed(
                subject, status.isLink ? link : "it is no \(kind)",
                hint: "put a \(kind) in its place")
        }
        return status.mode & 0o077 != 0
            ? .failed(subject, "it is open to others", hint: "chmod \(isFile ? 600 : 700) it")
            : .failed(subject, "it belongs to another user", hint: "chown it, or use another")
    }

    private func secrets() -> Finding {
        do throws(SecretDirectory.Fault) {
            // Read as a cycle reads them: one file that others can read stops it.
            var (count, unusable) = (0, 0)
            try profile.secrets().lend { _, bytes in
                count += 1
                if !SecretDirectory.allowedByteCounts.contains(bytes.count) { unusable += 1 }
            }
            guard unusable == 0 else {
                return .failed(
                    "secrets", CommandFailure(SecretDirectory.Fault.size).message,
                    hint: "\(unusable) of the files in secrets have another length")
            }
            let others = profile.secrets().othersCount
            guard others == 0 else {
                return .warning(
                    "secrets",
                    others == 1
                        ? "1 file is ignored: its name is no secret's"
                        : "\(others) files are ignored: their names are no secrets'",
                    hint: "reveille-client secrets add ID < FILE, and remove them")
            }
            guard count > 0 else {
                return .warning(
                    "secrets", "there is nothing to check the feed for",
                    hint: "reveille-client secrets add ID < FILE")
            }
            return .ok("secrets", count == 1 ? "1 secret" : "\(count) secrets")
        } catch {
            let path = profile.stateDirectory + "/secrets"
            if let finding = Self.check(path, "secrets") { return finding }
            for file in (try? Files.names(in: path)) ?? [] {
                guard let found = Self.check(path + "/" + file, "secrets", isFile: true) else {
                    continue
                }
                return .failed("secrets", "of a file among them: \(found.text)", hint: found.hint)
            }
            return .failed("secrets", CommandFailure(error).message, hint: nil)
        }
    }

    private func disk(_ configuration: ClientConfiguration) -> [Finding] {
        let mebibyte = 1 << 20
        var findings: [Finding] = []
        if let obstacle = Self.obstacle(to: profile.stateDirectory) {
            findings.append(
                .failed(
                    "disk", "nothing can be written for the state: \(obstacle)", hint: Self.mounted)
            )
        } else if let free = try? Files.freeBytes(at: profile.stateDirectory) {
            let text = "\(free / mebibyte) MiB free for the state"
            findings.append(
                free < 4 * mebibyte
                    ? .failed("disk", text, hint: "make room: nothing can be stored or reported")
                    : .ok("disk", text))
        }
        let cache =
            Files.exists(profile.cacheDirectory)
            ? profile.cacheDirectory : Files.parent(of: profile.cacheDirectory) ?? "/"
        if findings.first?.level == .ok, let obstacle = Self.obstacle(to: cache) {
            findings.append(
                .warning(
                    "cache-disk", "nothing can be written for the cache: \(obstacle)",
                    hint: Self.mounted))
        } else if let free = try? Files.freeBytes(at: cache), free < configuration.cacheCapacity {
            findings.append(
                .warning(
                    "cache-disk", "\(free / mebibyte) MiB free for the cache",
                    hint: "batches that are not kept cannot be checked for secrets added later"))
        }
        return findings
    }

    private static let mounted = "see how its file system is mounted, and who owns it"

    /// Why no file can be made in a directory; nil when none is seen, or it is not there.
    private static func obstacle(to directory: String) -> String? {
        do throws(FileError) {
            try Files.checkWritable(directory)
            return nil
        } catch { return error.isMissing ? nil : error.reason }
    }
}

/// Checks of the state that the client has written.
struct StateChecks {
    let diagnostics: ProfileDiagnostics
    let configuration: ClientConfiguration

    func findings() -> [Finding] {
        let client = client()
        // Opening the state further would create one.
        guard let version = diagnostics.stateVersion else {
            let hint = "reveille-client sync, or run, makes it"
            return [.warning("state", "there is none yet", hint: hint), client]
        }
        var findings: [Finding] = [.ok("state", "whole, version \(version)"), client]
        do throws(ClientError) {
            let status = try ProfileAccess(configuration).status()
            findings += [Self.registration(status.registration)] + Self.findings(status)
        } catch {
            findings.append(.failed("state", error))
        }
        return findings + [Self.cache(diagnostics.cached())]
    }

    private func client() -> Finding {
        let subject = "client"
        guard let holder = ProfileDiagnostics.holder(of: configuration) else {
            return .ok(subject, "not running")
        }
        return switch ProfileDiagnostics.answers(configuration) {
        case true?: .ok(subject, "running, process \(holder)")
        case false?:
            .failed(
                subject, "process \(holder) runs and does not answer",
                hint: "is it stopped? else end it with kill, and start it again")
        case nil:
            .warning(
                subject, "process \(holder) holds the profile, and is not `run`",
                hint: "a sync ends by itself; what else holds it must be ended")
        }
    }

    private static func cache(_ cached: ProfileDiagnostics.Cached) -> Finding {
        let batches = cached.batches == 1 ? "1 batch" : "\(cached.batches) batches"
        let text = "\(batches), \(cached.bytes / 1024) KiB"
        guard cached.lost > 0 else { return .ok("cache", text) }
        return .warning(
            "cache", text + "; \(cached.lost) that the feed retains are not kept",
            hint: "a secret added later is not checked against those; cache-megabytes in "
                + "client.conf keeps more")
    }

    private static func registration(_ state: RegistrationState) -> Finding {
        let (subject, hint) = ("registration", "run and sync keep trying")
        guard let failure = state.failure else {
            return switch state {
            case .none, .registered, .proving: .ok(subject, state.phrase)
            case .suspended, .registering, .unregistering:
                .warning(subject, state.phrase, hint: hint)
            }
        }
        return .of(failure, subject, state.phrase, hint: hint)
    }

    private static func findings(_ status: ClientStatus) -> [Finding] {
        var findings: [Finding] = []
        if let time = status.streamCutAfter {
            findings.append(
                .warning(
                    "streams", Report.cutStreams(after: Int(time.wholeSeconds)),
                    hint: "ask the service's operator: stream-keep-alive-seconds in reveille.conf "
                        + "must be shorter than the time after which the front cuts"))
        }
        if status.matchesToDeliver > 0 {
            let count = status.matchesToDeliver
            let text = count == 1 ? "1 match waits" : "\(count) matches wait"
            let hint =
                "run and sync report them again; `reveille-client test` with the same --on-match "
                + "or --notify shows what fails"
            findings.append(.warning("delivery", text + " to be reported", hint: hint))
        }
        if status.formerServices > 0 {
            let hint = "nothing need be done"
            findings.append(
                .warning("former-service", Report.former(status.formerServices), hint: hint))
        }
        if let unchecked = status.unchecked {
            let batches = Warning.batches(unchecked.lowerBound, unchecked.upperBound)
            let since = status.lastChecked.map { ", since \($0.minuteText)" } ?? ""
            let text = "\(batches), or some of that, could not be checked yet\(since)"
            let hint = "every sync and run asks again; if it lasts, ask the publisher"
            findings.append(.of(status.failure, "checks", text, hint: hint))
        }
        if status.isForked {
            let text = "two histories of the feed were seen: nothing newer is checked"
            findings.append(.failed("history", text, hint: CommandFailure(.fork).hint))
        }
        if status.isRetired {
            let hint = "reveille-client forget removes it"
            findings.append(.warning("publisher", "the feed has ended", hint: hint))
        }
        if status.pausedUntil != nil {
            let hint = "polling continues; the pause ends by itself"
            findings.append(.warning("publisher", "wakes are paused", hint: hint))
        }
        if let time = status.waitingUntil {
            let text = Report.waiting(status.batchesWaiting, until: time)
            let hint = "a larger daily-bytes in client.conf brings them sooner"
            findings.append(.warning("budget", text, hint: hint))
        }
        if status.sharesOrigin {
            let hint =
                "one operator sees who registers and who fetches; ask for a feed elsewhere, or use "
                + "--proxy"
            findings.append(.warning("origins", "feed and service share an origin", hint: hint))
        }
        return findings
    }

    private static func finding(_ test: PushTest) -> Finding {
        guard let seconds = test.seconds else {
            return .warning(
                "push-test",
                "the push that was asked for at \(test.time.minuteText) did not arrive",
                hint: "reveille-client test --push asks for another; polls find everything, later")
        }
        return .ok(
            "push-test",
            "pushes arrive: the last test, at \(test.time.minuteText), took "
                + Report.seconds(seconds))
    }

    /// Of a UnifiedPush distributor, if one was chosen, and the last test.
    func pushes(_ profile: Profile) async -> [Finding] {
        do throws(CommandFailure) {
            let chosen = try await PushStatus(profile, configuration).finding
            let test = try mapError(CommandFailure.init) { () throws(ClientError) in
                try ProfileAccess(configuration).pushTest()
            }
            return [chosen, test.map(Self.finding)].compactMap(\.self)
        } catch {
            return [.failed("pushes", error.message, hint: error.hint, status: error.status)]
        }
    }
}
