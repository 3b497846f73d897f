import Reveille
import WakeCommand
import WakeModel
import WakeSystem

let secretsAddCommand = Command(
    "secrets add", "add what the feed is to be checked for, from standard input",
    operands: [.init("ID", "its name, reported with a match; numbered without", .optional)],
    options: Profile.options,
    examples: [
        "reveille-client secrets add visit < secret.txt",
        "openssl rand -hex 32 | reveille-client secrets add",
    ],
    notes: """
        One secret a line: hexadecimal or base64url of 16 to 1024 bytes, as the publisher reads
        it; any other line is taken as the text it is, spaces and all. Of several lines ID gets a
        number each. All are added or none, also by a command that is killed. It can be repeated:
        secrets that are there already are no error.
        """
) { invocation throws(CommandFailure) in
    let (profile, _) = try Profile.open(invocation)
    var input = try Console().input(limit: 1 << 20)
    defer { input.wipe() }
    let lines = input.split(separator: UInt8(ascii: "\n")).map(decodeSecret)
    guard !lines.isEmpty else {
        throw .usage("standard input holds no secret", hint: "secrets add ID < FILE")
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

/// A secret as the publisher reads it: 16 bytes or more in hexadecimal or base64url, else as it is.
private func decodeSecret(_ line: ArraySlice<UInt8>) -> [UInt8] {
    var text = Array(line)
    if text.last == UInt8(ascii: "\r") { text.removeLast() }
    if let bytes = Hex.decode(text.span), bytes.count >= 16 { return bytes }
    if let bytes = Base64URL.decode(text.span), bytes.count >= 16 { return bytes }
    return text
}
