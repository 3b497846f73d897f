import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// `reveille witness`: a witness of other feeds and logs, in a directory of its own.
enum WitnessCommands {
    static let all = [make, WitnessServeCommand.command, addLog, list]

    static let directory = Command.Option(
        "--directory", value: "DIR",
        "the directory of the witness (default: /var/lib/reveille-witness)")

    private static let make = Command(
        "witness init", "make a witness: a key, and no logs yet",
        operands: [
            .init(
                "NAME",
                "how its cosignatures name it, without spaces or plus signs: by custom an address "
                    + "without https://, such as witness.example.org/w1")
        ],
        options: [directory],
        examples: [
            "reveille witness init witness.example.org/w1",
            "reveille witness init witness.example.org/w1 --directory ./witness",
        ],
        notes: """
            It prints the verifier key, which goes to the logs that are to ask this witness and to
            the policies of those who trust it. The key is for one witness: never run it on two
            machines, and never go on from a copy of the directory.
            """,
        run: { (invocation) async throws(CommandFailure) in
            guard let name = NoteKeyName(invocation.operands[0]),
                invocation.operands[0].utf8.count <= WitnessedLogs.originLimit
            else { throw .usage("NAME has no spaces and no plus signs, and 255 bytes at most") }
            let place = try place(invocation)
            try mapError({ CommandFailure(place.path, $0) }, try Files.makeDirectory(place.path))
            if let fault = ConfigurationFile.fault(above: place.path) {
                throw fault
            }
            let key = try mapError(failure, try place.create(name))
            Console().out(
                """
                made \(place.path)
                witness key: \(key.text)
                next: reveille witness add-log VKEY, then reveille witness serve
                """)
            return .success
        })

    private static let addLog = Command(
        "witness add-log", "cosign the checkpoints of a log from now on",
        operands: [
            .init(
                "VKEY", "the log's verifier key, NAME+ID+KEY, as its operator publishes it",
                // A feed's identifier in base64url, which may begin with a dash.
                isDashed: { NoteKey(text: $0) != nil })
        ],
        options: [
            .init(
                "--origin", value: "LINE",
                "the first line of its checkpoints (default: the name in VKEY)"),
            directory,
        ],
        examples: [
            "reveille witness add-log VKEY"
        ],
        notes: """
            A running witness takes it up with its next request. A second key of the same origin
            counts beside the first one: so a log changes its key. Run this as the user of the
            witness.
            """,
        run: { (invocation) async throws(CommandFailure) in
            guard let key = NoteKey(text: invocation.operands[0]) else {
                throw .usage("VKEY is no verifier key", hint: "it has the form NAME+ID+KEY")
            }
            let origin = invocation.value("--origin").map { Array($0.utf8) } ?? key.name.bytes
            let place = try place(invocation)
            let log = try mapError(failure, try place.addLog(key, origin: origin))
            Console().out(
                "cosigning \(log.label), keys: \(log.keys.count)\n"
                    + "monitors read GET /\(log.identifier)/checkpoint")
            return .success
        })

    private static let list = Command(
        "witness list", "show the witness's key, its logs, and what it cosigned of them last",
        options: [directory, .json],
        examples: ["reveille witness list", "reveille witness list --json"],
        run: { (invocation) async throws(CommandFailure) in
            let place = try place(invocation)
            let (key, entries) = try mapError(failure) { () throws(WitnessDirectoryError) in
                let key = try place.publicKey()
                return (
                    key,
                    try place.logs().logs.map { (log) throws(WitnessDirectoryError) in
                        (log, try place.checkpoint(of: log.origin, key: key))
                    }
                )
            }
            guard !invocation.flag("--json") else {
                Console().json { text in
                    text.member("key", string: key.text)
                    text.beginArray("logs")
                    for (log, latest) in entries {
                        text.beginObject()
                        text.member("origin", string: log.label)
                        text.member("hash", string: log.identifier)
                        text.member("keys", strings: log.keys.map(\.text))
                        text.member("size", number: latest.size)
                        text.member("root", hex: latest.root.bytes)
                        text.member("cosigned", number: latest.time)
                        text.endObject()
                    }
                    text.endArray()
                }
                return .success
            }
            Console().out("witness key: \(key.text)")
            for (number, (log, latest)) in entries.enumerated() {
                let state =
                    latest.note == nil ? "nothing cosigned yet" : "size \(latest.size) cosigned"
                Console().out(
                    "\(number + 1)  \(log.label)  \(state)  /\(log.identifier)/checkpoint")
            }
            return .success
        })

    static func place(_ invocation: Invocation) throws(CommandFailure) -> WitnessDirectory {
        let path = invocation.value(directory.name) ?? "/var/lib/reveille-witness"
        return WitnessDirectory(try Environment.absolute(path))
    }

    static func failure(_ error: WitnessDirectoryError) -> CommandFailure {
        let status: ExitStatus =
            switch error {
            case .exists, .log: .failure
            case .lost, .otherKey: .badData
            case .key(.keyFile(.file)): .ioError
            case .key(.keyFile): .configuration
            case .key, .file: .ioError
            case .running, .busy: .transient
            }
        return CommandFailure(lines: error.message, status: status)
    }
}
