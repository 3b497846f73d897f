import Glibc
import Reveille
import WakeCommand
import WakeSystem

/// The directories of a profile, from `--profile`, `--state` and the XDG directories
/// (specifications.freedesktop.org/basedir-spec).
struct Profile {
    static let options: [Command.Option] = [
        .init(
            "--profile", value: "NAME", "which profile, default by default",
            completion: .names { (try? names()) ?? [] }),
        .init("--state", value: "DIR", "keep everything of the profile in this directory"),
    ]

    let stateDirectory: String
    let cacheDirectory: String

    var configurationFile: String { stateDirectory + "/client.conf" }

    init(_ invocation: Invocation) throws(CommandFailure) {
        let name = invocation.value("--profile") ?? "default"
        guard Self.isName(name) else {
            throw .usage("a profile's name is letters, digits, - and _, 64 at most")
        }
        if let directory = invocation.value("--state") {
            guard invocation.value("--profile") == nil else {
                throw .usage("--profile and --state exclude each other")
            }
            stateDirectory = try Environment.absolute(directory)
            cacheDirectory = stateDirectory + "/cache"
            return
        }
        stateDirectory = try Self.stateBase() + "/" + name
        // Profiles share nothing, hence no cache: one could be seen to fetch for the other.
        cacheDirectory = try Self.base("XDG_CACHE_HOME", ".cache") + "/reveille/" + name
    }

    /// The profiles of this user, sorted.
    static func names() throws(CommandFailure) -> [String] {
        let base = try stateBase()
        do throws(FileError) {
            return try Files.names(in: base).filter { name in
                isName(name) && Files.exists("\(base)/\(name)/client.conf")
            }.sorted()
        } catch {
            if error.isMissing { return [] }
            throw CommandFailure("profiles cannot be listed: \(error.reason)", status: .ioError)
        }
    }

    /// The names of the secrets of the default profile; empty when there is none.
    static var secretNames: [String] {
        let directory = try? stateBase() + "/default"
        return directory.flatMap { try? SecretDirectory(stateDirectory: $0).names() } ?? []
    }

    /// The profile that the command line names, with its configuration.
    static func open(
        _ invocation: Invocation
    ) throws(CommandFailure) -> (Profile, ClientConfiguration) {
        let profile = try Profile(invocation)
        return (profile, try profile.configuration())
    }

    /// The client of this profile, which it locks.
    func client(
        _ configuration: ClientConfiguration, handler: ConsoleHandler = .init(quiet: true),
        environment: ClientEnvironment = .live
    ) throws(ClientError) -> WakeClient {
        try WakeClient(
            configuration, secrets: secrets(), handler: handler, environment: environment)
    }

    func configuration() throws(CommandFailure) -> ClientConfiguration {
        try ProfileFile(profile: self).configuration()
    }

    func secrets() -> SecretDirectory { SecretDirectory(stateDirectory: stateDirectory) }

    /// Removes what the profile's directory holds, the configuration last.
    func removeFiles() throws(FileError) {
        let names = ["client.db", "client.db-wal", "client.db-shm", "control", "lock"]
        let left = ((try? Files.names(in: stateDirectory)) ?? []).filter {
            $0.hasPrefix("evidence-") || $0.hasPrefix("client.db.damaged-")
        }
        for name in names + left { try Files.remove(stateDirectory + "/" + name) }
        try Files.remove(configurationFile)
        // Of a relay of registrations, also of an earlier configuration's.
        for name in ["ohttp-keys", "ohttp-keys.tmp"] {
            try? Files.remove(cacheDirectory + "/" + name)
        }
        let cached = ((try? Files.names(in: cacheDirectory)) ?? []).map {
            cacheDirectory + "/" + $0
        }
        // A state that could not be read has not emptied its cache: a directory by a feed's id.
        for directory in cached where directory.utf8.count == cacheDirectory.utf8.count + 33 {
            for name in (try? Files.names(in: directory)) ?? [] {
                try? Files.remove(directory + "/" + name)
            }
        }
        // Left when something of the user's own lies there. The cache may be in the state.
        let directories = cached + [cacheDirectory, stateDirectory + "/secrets", stateDirectory]
        for directory in directories { unsafe rmdir(directory) }
    }

    /// The directory of the named profiles.
    static func stateBase() throws(CommandFailure) -> String {
        try base("XDG_STATE_HOME", ".local/state") + "/reveille"
    }

    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isAlphanumeric || "-_".utf8.contains($0) }
    }

    static func base(_ variable: String, _ fallback: String) throws(CommandFailure) -> String {
        // "If an implementation encounters a relative path … it should ignore it."
        if let path = Environment.value(variable), path.hasPrefix("/") { return path }
        guard let home = Environment.value("HOME"), home.hasPrefix("/") else {
            throw CommandFailure(
                "HOME is not set", hint: "set it, or name a directory with --state",
                status: .configuration)
        }
        return home + "/" + fallback
    }
}
