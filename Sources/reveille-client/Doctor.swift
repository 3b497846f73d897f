import WakeClient
import WakeCommand
import WakeFiles

/// Examines one profile, from its files outwards.
struct Doctor {
    let profile: Profile

    init(_ profile: Profile) {
        self.profile = profile
    }

    /// Everything that can be said; what depends on a thing that failed is left out.
    func examine() async -> [Finding] {
        var findings: [Finding] = []
        let configuration: ClientConfiguration
        do throws(CommandFailure) {
            configuration = try profile.configuration()
            findings.append(.ok("configuration", Self.words(configuration)))
        } catch {
            findings.append(.failed("configuration", error.message, hint: error.hint))
            return findings + [library()]
        }
        findings.append(stateDirectory())
        findings.append(cacheDirectory())
        findings.append(secrets())
        findings += disk(configuration)
        let examination: ProfileExamination
        do throws(ClientError) {
            examination = try ProfileExamination(configuration)
            findings.append(state(examination))
        } catch {
            findings.append(Self.failure("state", error))
            return findings + [library()]
        }
        findings += client(examination, configuration)
        if examination.stateVersion != nil { findings += await pushes(configuration) }
        findings += await network(examination, configuration)
        findings += await desktop()
        findings += await supervision()
        return findings
    }

    /// What is configured, without the addresses.
    private static func words(_ configuration: ClientConfiguration) -> String {
        var words = [
            "a feed", configuration.service == nil ? "no service" : "a service",
            configuration.channel == .stream ? "woken by the event stream" : "polling",
        ]
        if configuration.proxy != nil { words.append("all through a proxy") }
        if configuration.dailyByteBudget != nil { words.append("metered") }
        return words.joined(separator: ", ")
    }

    /// A failure of the library: 75 when waiting may help.
    static func failure(_ subject: String, _ error: ClientError) -> Finding {
        .failed(
            subject, CommandFailure.message(error), hint: CommandFailure.hint(error),
            status: error.isTransient ? .transient : .configuration)
    }

    // MARK: Files

    private func stateDirectory() -> Finding {
        Self.check(profile.stateDirectory, "state-directory")
            ?? .ok("state-directory", "for its owner alone")
    }

    private func cacheDirectory() -> Finding {
        guard Files.exists(profile.cacheDirectory) else {
            return .ok("cache-directory", "not there yet")
        }
        guard let finding = Self.check(profile.cacheDirectory, "cache-directory") else {
            return .ok("cache-directory", "for its owner alone")
        }
        // The client goes on without, and says so as little.
        return .warning(
            finding.subject, finding.text + "; nothing is kept for secrets added later",
            hint: finding.hint)
    }

    /// nil when nobody else can reach the directory.
    private static func check(_ path: String, _ subject: String) -> Finding? {
        guard let status = try? FileStatus(of: path) else {
            return .failed(subject, "it cannot be looked at", hint: "see who owns what is above it")
        }
        if status.isPrivate, status.isDirectory { return nil }
        if status.isLink || !status.isDirectory {
            return .failed(
                subject, "it is a symbolic link or no directory",
                hint: "put a directory in its place")
        }
        if status.mode & 0o077 != 0 {
            return .failed(subject, "it is open to others", hint: "chmod 700 it")
        }
        return .failed(subject, "it belongs to somebody else", hint: "chown it, or use another")
    }

    private func secrets() -> Finding {
        do throws(SecretDirectory.Fault) {
            // As a cycle reads them: one file that others can read stops it.
            var count = 0
            try profile.secrets().lend { _, _ in count += 1 }
            guard count > 0 else {
                return .warning(
                    "secrets", "there is nothing to check the feed for",
                    hint: "reveille-client secrets add ID < FILE")
            }
            return .ok("secrets", count == 1 ? "1 secret" : "\(count) secrets")
        } catch {
            let failure = CommandFailure(error)
            return .failed(
                "secrets", failure.message, hint: "chmod 700 secrets, chmod 600 its files")
        }
    }

    private func disk(_ configuration: ClientConfiguration) -> [Finding] {
        let mebibyte = 1 << 20
        var findings: [Finding] = []
        if let free = try? Files.freeBytes(at: profile.stateDirectory) {
            let text = "\(free / mebibyte) MiB free for the state"
            findings.append(
                free < 4 * mebibyte
                    ? .failed("disk", text, hint: "make room: nothing can be noted or told")
                    : .ok("disk", text))
        }
        let cache =
            Files.exists(profile.cacheDirectory)
            ? profile.cacheDirectory : Files.parent(of: profile.cacheDirectory) ?? "/"
        if let free = try? Files.freeBytes(at: cache), free < configuration.cacheCapacity {
            findings.append(
                .warning(
                    "cache-disk", "\(free / mebibyte) MiB free for the cache",
                    hint: "batches that are not kept cannot be checked for secrets added later"))
        }
        return findings
    }

    private func state(_ examination: ProfileExamination) -> Finding {
        guard let version = examination.stateVersion else {
            return .warning(
                "state", "there is none yet", hint: "reveille-client sync, or run, makes it")
        }
        return .ok("state", "whole, version \(version)")
    }
}
