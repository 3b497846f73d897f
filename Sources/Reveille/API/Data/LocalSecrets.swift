public import FoundationEssentials
private import Glibc
import WakeModel
import WakeSystem

/// The secrets that the feed is checked against. They stay with the app and are lent one at a time.
public protocol LocalSecrets: Sendable {
    /// A number that changes whenever a secret is added: the retained batches are then checked
    /// again, without any request. Keep it across restarts. What it counts can be lent before it
    /// changes, never after: a secret that follows its number is not checked against the past.
    func generation() async throws -> UInt64

    /// Calls `body` once for every secret: a name of the app's choosing that comes back with a
    /// match, and 16 to 1024 bytes. Others are passed over, with a warning.
    func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) async throws
}

/// Secrets as files in a directory of the profile, one each, readable by its owner alone.
public struct SecretDirectory: LocalSecrets {
    /// A failure to read or change secrets.
    public enum Fault: Error, Sendable, Equatable {
        /// A name is 1 to 64 of a-z, A-Z, 0-9, `.`, `-`, `_`, and begins with a letter or digit.
        case name
        /// A secret has 16 to 1024 bytes.
        case size
        /// There is another one of this name already.
        case exists
        /// The same bytes are there already, under this name: a match is delivered only once.
        case same(as: String)
        /// There is none of this name.
        case missing
        /// Others can read or write it. Or the disk is full, or broken.
        case unusable
    }

    /// The allowed lengths of a secret, in bytes.
    public static let allowedByteCounts = 16...1024

    private let path: String

    /// The secrets of a profile; they lie in `secrets` below its state directory.
    public init(stateDirectory: String) { path = stateDirectory + "/secrets" }

    /// The names, sorted.
    public func names() throws(Fault) -> [String] {
        guard Files.exists(path) else { return [] }
        try check()
        return try Self.usable { () throws(FileError) in try names(beside: try journal()) }
    }

    /// Files among the secrets that are passed over, since their names are none.
    package var othersCount: Int {
        let own =
            Self.leftovers + [Self.counter, Self.counter + ".tmp", Self.lock, SecretJournal.name]
        return ((try? Files.names(in: path)) ?? []).count { !Self.isName($0) && !own.contains($0) }
    }

    /// The name of the secret with these bytes; nil when there is none.
    public func name(of secret: Span<UInt8>) throws(Fault) -> String? {
        let wanted = Array(copying: secret)
        var found: String?
        try lend { name, bytes in
            if Array(copying: bytes) == wanted { found = found ?? name }
        }
        return found
    }

    /// Adds a secret, as `add(_:)` does.
    public func add(_ secret: Span<UInt8>, named name: String) throws(Fault) {
        var copy = Array(copying: secret)
        defer { copy.wipe() }
        try add([(name, copy)])
    }

    /// Adds a secret, as `add(_:)` does: `try secrets.add(Array("…".utf8), named: "visit")`.
    public func add(_ secret: [UInt8], named name: String) throws(Fault) {
        try add([(name, secret)])
    }

    /// Adds secrets, all or none, also when the process is killed. Those that are there already,
    /// name and bytes, are no error. A running client checks the past for them at once.
    public func add(_ secrets: [(name: String, secret: [UInt8])]) throws(Fault) {
        for (name, secret) in secrets {
            guard Self.isName(name) else { throw .name }
            guard Self.allowedByteCounts.contains(secret.count) else { throw .size }
        }
        try Self.usable { () throws(FileError) in
            if !Files.exists(path) { try Files.makeDirectory(path) }
        }
        try changing { () throws(Fault) in
            let new = try new(of: secrets)
            guard !new.isEmpty else { return }
            try Self.usable { () throws(FileError) in
                let journal = SecretJournal(generation: try readGeneration() &+ 1, secrets: new)
                var bytes = journal.encode()
                defer { bytes.wipe() }
                try Files.replace(file(SecretJournal.name), with: bytes.span)
                // They are added: readers find them in the journal until each has its file.
                try? complete(journal)
            }
        }
        ControlSocket.notify(String(path.dropLast("/secrets".count)))
    }

    /// The secrets that are not there yet.
    private func new(
        of secrets: [(name: String, secret: [UInt8])]
    ) throws(Fault) -> [(name: String, secret: [UInt8])] {
        var known: [String: [UInt8]] = [:]
        try lend { name, bytes in known[name] = Array(copying: bytes) }
        var names = Dictionary(known.map { ($1, $0) }, uniquingKeysWith: min)
        var new: [(name: String, secret: [UInt8])] = []
        for (name, secret) in secrets {
            if let other = known[name] {
                guard other == secret else { throw .exists }
                continue
            }
            if let other = names[secret] { throw .same(as: other) }
            (known[name], names[secret]) = (secret, name)
            new.append((name, secret))
        }
        return new
    }

    /// Removes a secret; its bytes are overwritten first.
    public func remove(named name: String) throws(Fault) {
        guard Self.isName(name), Files.exists(path) else { throw .missing }
        try changing { () throws(Fault) in
            guard Files.exists(file(name)) else { throw .missing }
            try Self.usable { () throws(FileError) in try wipe(name) }
        }
    }

    /// Removes every secret, and what beside them is the directory's own.
    package func removeAll() throws(Fault) {
        guard Files.exists(path) else { return }
        try check()
        try Self.usable { () throws(FileError) in
            for name in try Files.names(in: path).filter(Self.isName) { try wipe(name) }
            for name in [SecretJournal.name] + Self.leftovers { try wipe(name) }
            for name in [Self.counter, Self.counter + ".tmp", Self.lock] {
                try Files.remove(file(name))
            }
        }
    }

    /// A number that grows with every change that adds secrets.
    public func generation() throws(Fault) -> UInt64 {
        guard Files.exists(path) else { return 0 }
        try check()
        return try Self.usable { () throws(FileError) in
            // The journal first: files and number are complete before it goes.
            if let journal = try journal() { return journal.generation }
            return try readGeneration()
        }
    }

    /// Reads and lends every secret.
    public func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) throws(Fault) {
        guard Files.exists(path) else { return }
        try check()
        try Self.usable { () throws(FileError) in
            let journal = try journal()
            let added = Dictionary(
                (journal?.secrets ?? []).map { ($0.name, $0.secret) }, uniquingKeysWith: { $1 })
            for name in try names(beside: journal) {
                if let secret = added[name] {
                    body(name, secret.span)
                    continue
                }
                do throws(FileError) {
                    let limit = Self.allowedByteCounts.upperBound
                    guard var bytes = try Files.readPrivate(file(name), limit: limit) else {
                        throw FileError(.read, EPERM)
                    }
                    defer { bytes.wipe() }
                    body(name, bytes.span)
                } catch {
                    // Too long: of no use, and no obstacle to the others.
                    if error.number == EFBIG {
                        body(name, [UInt8]().span)
                        continue
                    }
                    // Removed since the names were read.
                    guard error.isMissing else { throw error }
                }
            }
        }
    }

    // MARK: Files

    private static let counter = ".generation"
    private static let lock = ".lock"
    /// Where a secret gets its file before it has its name.
    private static let made = ".made"
    private static let removed = ".removed"
    /// Files with secrets that a killed process may leave.
    private static let leftovers = [made, removed, SecretJournal.name + ".tmp"]

    private func file(_ name: String) -> String { path + "/" + name }

    private func check() throws(Fault) {
        guard let status = try? FileStatus(ofDirectory: path), status.isDirectory, status.isPrivate
        else {
            throw .unusable
        }
    }

    private static func usable<Result>(
        _ body: () throws(FileError) -> Result
    ) throws(Fault) -> Result {
        try mapError({ _ in Fault.unusable }, body)
    }

    /// Runs `body` while no other process changes the directory, after ending the change that a
    /// killed process began.
    private func changing(_ body: () throws(Fault) -> Void) throws(Fault) {
        try check()
        let lock = try Self.usable { () throws(FileError) in
            let lock = try OpenFile(file(Self.lock), flags: O_RDWR | O_CREAT)
            try lock.lockExclusively(waiting: true)
            if let journal = try journal() { try complete(journal) }
            for name in Self.leftovers { try wipe(name) }
            return lock
        }
        defer { lock.unlock() }
        try body()
    }

    /// Gives each secret its file, and then ends the journal. Can be repeated.
    private func complete(_ journal: SecretJournal) throws(FileError) {
        for (name, secret) in journal.secrets {
            try wipe(Self.made)
            try Files.createForNow(file(Self.made), with: secret.span)
            try Files.renameForNow(file(Self.made), to: file(name))
        }
        // One flush, however many they are.
        try Files.synchronizeDisk(of: path)
        let number = Array(String(journal.generation).utf8)
        // Makes the names before it durable, too.
        try Files.replace(file(Self.counter), with: number.span)
        try wipe(SecretJournal.name)
    }

    /// Overwrites and removes a file, under another name: no reader takes zeros for a secret.
    private func wipe(_ name: String) throws(FileError) {
        guard Files.exists(file(name)) else { return }
        if name != Self.removed {
            try wipe(Self.removed)
            try Files.rename(file(name), to: file(Self.removed))
        }
        let open = try OpenFile(file(Self.removed), flags: O_WRONLY)
        let zeros = [UInt8](repeating: 0, count: try open.status().size)
        try open.write(zeros.span)
        try open.synchronize()
        try Files.remove(file(Self.removed))
    }

    /// Read before the names: what it lists has its file when it is gone.
    private func journal() throws(FileError) -> SecretJournal? {
        guard Files.exists(file(SecretJournal.name)) else { return nil }
        do throws(FileError) {
            var bytes = try Files.read(file(SecretJournal.name), limit: SecretJournal.mostBytes)
            defer { bytes.wipe() }
            guard let journal = SecretJournal(decoding: bytes.span) else {
                throw FileError(.read, EINVAL)
            }
            return journal
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }

    private func names(beside journal: SecretJournal?) throws(FileError) -> [String] {
        let files = try Files.names(in: path).filter(Self.isName)
        return Set(files + (journal?.secrets.map(\.name) ?? [])).sorted()
    }

    private func readGeneration() throws(FileError) -> UInt64 {
        guard Files.exists(file(Self.counter)) else { return 0 }
        let text = try Files.read(file(Self.counter), limit: 32)
        return UInt64(String(decoding: text, as: UTF8.self)) ?? 0
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...64).contains(name.utf8.count), let first = name.utf8.first else { return false }
        let isLetterOrDigit = { (byte: UInt8) in
            let lowercase = byte | 0x20
            return (0x61...0x7A).contains(lowercase) || (0x30...0x39).contains(byte)
        }
        return isLetterOrDigit(first)
            && name.utf8.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
    }
}

extension SecretDirectory.Fault: LocalizedError {
    private var entry: (number: Int32, phrase: String) {
        switch self {
        case .name: (101, "a name is 1 to 64 letters, digits, dots, hyphens and underscores")
        case .size: (102, "a secret has 16 to 1024 bytes")
        case .exists: (103, "there is another secret of this name already")
        case .same(as: ""): (104, "the same secret is there under another name")
        case .same(as: let name):
            (104, "this is the same secret as \(name), and would match as one")
        case .missing: (105, "there is no secret of this name")
        case .unusable: (100, "the secrets cannot be read or written")
        }
    }

    /// What failed: a sentence in English.
    public var errorDescription: String? { phrase.asSentence }

    /// The same in lower case and without the full stop.
    package var phrase: String { entry.phrase }

    /// Of `enum reveille_error` in reveille.h.
    package var number: Int32 { entry.number }
}
