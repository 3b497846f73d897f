import WakeCommand
import WakeModel
import WakePush
import WakeServer
import WakeSystem

/// `reveille relay`: the self-hosted installations whose wake-ups a running service passes on.
enum RelayCommand {
    static let all = [allow, list, revoke]

    private static let allow = Command(
        "relay allow", "pass on the wake-ups of a self-hosted installation",
        operands: [
            .init("NAME", "what you call it: 1 to 64 of a-z, 0-9 and -"),
            .init(
                "KEY", "what its `reveille keygen --kind relay` printed",
                isDashed: { VerifyingKey(text: $0) != nil }),
        ],
        options: [ConfigurationFile.option],
        examples: ["reveille relay allow village 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
        run: { (invocation) async throws(CommandFailure) in
            let name = try name(invocation)
            guard let key = VerifyingKey(text: invocation.operands[1]) else {
                throw .usage(
                    "KEY is no public key",
                    hint: "it is the 43 characters that `reveille keygen --kind relay` printed")
            }
            try change(invocation) { list throws(InstallationChangeError) in
                try list.allow(name, key)
            }
            Console().out("allowed \(name), in force at once")
            return .success
        })

    private static let revoke = Command(
        "relay revoke", "pass on the wake-ups of an installation no longer",
        operands: [.init("NAME", "as it was allowed")],
        options: [ConfigurationFile.option],
        examples: ["reveille relay revoke village"],
        run: { (invocation) async throws(CommandFailure) in
            let name = try name(invocation)
            try change(invocation) { list throws(InstallationChangeError) in try list.revoke(name) }
            Console().out("revoked \(name), in force at once")
            return .success
        })

    private static let list = Command(
        "relay list", "show the installations that are allowed, with their public keys",
        options: [ConfigurationFile.option, .json],
        examples: ["reveille relay list"],
        run: { (invocation) async throws(CommandFailure) in
            let path = try path(invocation)
            let list = try mapError(
                { failure(.file($0), path) }, StateFile.installations(path).installations())
            guard !invocation.flag("--json") else {
                Console().json { text in
                    text.beginArray("installations")
                    for entry in list.entries {
                        text.beginObject()
                        text.member("name", string: "\(entry.name)")
                        text.member("key", string: "\(entry.keyText)")
                        text.endObject()
                    }
                    text.endArray()
                }
                return .success
            }
            let lines = list.entries.map { "\($0.name) \($0.keyText)\n" }
            _ = Console().out(bytes: Array(lines.joined().utf8))
            return .success
        })

    private static func name(_ invocation: Invocation) throws(CommandFailure) -> InstallationName {
        guard let name = InstallationName(invocation.operands[0]) else {
            throw .usage("NAME is 1 to 64 of a-z, 0-9 and -")
        }
        return name
    }

    private static func path(_ invocation: Invocation) throws(CommandFailure) -> String {
        guard let relay = try ConfigurationFile.load(invocation).relay else {
            throw CommandFailure(
                "the relay is off: no section [relay]",
                hint: "set authority in [relay] to this service's host name",
                status: .configuration)
        }
        return relay.installations
    }

    private static func change(
        _ invocation: Invocation,
        _ body: (inout InstallationList) throws(InstallationChangeError) -> Void
    ) throws(CommandFailure) {
        let path = try path(invocation)
        try mapError({ failure($0, path) }, StateFile.installations(path).change(body))
    }

    private static func failure(_ error: InstallationFileError, _ path: String) -> CommandFailure {
        switch error {
        case .file(let error) where error.isNotPermitted:
            CommandFailure(
                "\(path): not this user's to change, or others can write it",
                hint: "run this as the user that runs the service; the file has mode 0640",
                status: .ioError)
        case .file(let error):
            switch error.fault {
            case .file, .missing: CommandFailure(error.message, status: .ioError)
            case .damaged, .newerVersion, .tooLarge:
                CommandFailure(
                    error.message, hint: "until it is right, every installation is refused",
                    status: .badData)
            }
        case .busy: CommandFailure("\(path): another command changes it", status: .transient)
        case .change(.tooMany): CommandFailure("the list of installations is full")
        case .change(.nameTaken):
            CommandFailure(
                "an installation of this name is allowed already",
                hint: "for another key, revoke it first")
        case .change(.keyTaken(let name)):
            CommandFailure(
                "this key is allowed already" + (name.map { ", as \($0)" } ?? ""),
                hint: "every installation has a key of its own")
        case .change(.nameUnknown):
            CommandFailure(
                "no installation of this name is allowed", hint: "see reveille relay list")
        }
    }
}
