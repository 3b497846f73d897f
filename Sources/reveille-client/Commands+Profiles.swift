import WakeCommand
import WakeFiles

let profilesCommand = Command(
    "profiles", "list the profiles, one name a line",
    options: [.init("--json", "as JSON")], examples: ["reveille-client profiles"],
    notes: "Profiles made with --state are not among them: only you know where those are."
) { invocation throws(CommandFailure) in
    let names = try Profile.names()
    if invocation.flag("--json") {
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        Console().out("{\"profiles\":[\(list)]}")
    } else {
        for name in names { Console().out(name) }
    }
    return .success
}

extension Profile {
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
}
