import Reveille
import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

let secretsAddCommand = Command(
    "secrets add", "add what the feed is to be checked for, from standard input",
    operands: [.init("ID", "its name, reported with a match; numbered without", .optional)],
    options: [.init("--text", "a secret is the text of its line, spaces and all")]
        + Profile.options,
    examples: [
        "reveille-client secrets add visit < secret.txt",
        "openssl rand -hex 32 | reveille-client secrets add",
    ],
    notes: """
        One secret a line: hexadecimal or base64url of 16 to 1024 bytes, read exactly as
        `reveille feed publish --secrets` reads it. A line that is neither is refused,
        with its place: blanks, quotation marks, base64 with = or a byte order mark
        would make another secret of it. Empty lines and CR at a line's end do not
        count, and a secret that is repeated counts once. With --text a secret is the
        text of its line; the publisher publishes it with --text as well.

        Of several secrets ID gets a number each. All are added or none, also by a
        command that is killed. It can be repeated: secrets that are there already are
        no error.
        """
) { invocation throws(CommandFailure) in
    let (profile, _) = try Profile.open(invocation)
    var input = try Console().input(limit: 1 << 20)
    defer { input.wipe() }
    let lines: [[UInt8]]
    do throws(FeedInputError) {
        lines = try FeedInput.secretLines(
            of: input, encoding: invocation.flag("--text") ? .plain : .text)
    } catch {
        var hint: String?
        if error == .empty { hint = "reveille-client secrets add ID < FILE" }
        if case .notText = error { hint = "--text takes lines as the text they are" }
        throw CommandFailure(error.message, hint: hint, status: .badData)
    }
    let secrets = profile.secrets()
    try mapError(CommandFailure.init) { () throws(SecretDirectory.Fault) in
        let names = try names(for: lines, from: invocation.operands.first, in: secrets)
        try secrets.add(zip(names, lines).map { ($0, $1) })
        for name in names { Console().out(name) }
    }
    return .success
}

/// A name for each line: the one given, numbered when there are several lines; or the name that a
/// line has already, or a free number.
private func names(
    for lines: [[UInt8]], from given: String?, in secrets: SecretDirectory
) throws(SecretDirectory.Fault) -> [String] {
    if let given, !given.isEmpty {
        return lines.count == 1 ? [given] : (1...lines.count).map { "\(given)-\($0)" }
    }
    var known: [[UInt8]: String] = [:]
    try secrets.lend { name, bytes in known[bytes.array] = name }
    let taken = Set(known.values)
    var free = (1...(lines.count + taken.count)).lazy.map { "secret-\($0)" }
        .filter { !taken.contains($0) }.makeIterator()
    return lines.compactMap { known[$0] ?? free.next() }
}

let secretsListCommand = Command(
    "secrets list", "list the names of the secrets",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, _) = try Profile.open(invocation)
    let names = try mapError(CommandFailure.init) { () throws(SecretDirectory.Fault) in
        try profile.secrets().names()
    }
    Report.show(names, as: "secrets", json: invocation.flag("--json"))
    return .success
}

let secretsRemoveCommand = Command(
    "secrets remove", "remove a secret",
    operands: [.init("ID", "its name", completion: .names { Profile.secretNames })],
    options: Profile.options
) { invocation throws(CommandFailure) in
    let (profile, _) = try Profile.open(invocation)
    try mapError(CommandFailure.init) { () throws(SecretDirectory.Fault) in
        try profile.secrets().remove(named: invocation.operands[0])
    }
    return .success
}
