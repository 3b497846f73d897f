private import Glibc
import WakeModel
import WakeSystem

/// The secrets that the feed is checked against. They stay with the app and are lent one at a time.
public protocol LocalSecrets: Sendable {
    /// A number that changes whenever a secret is added: the retained batches are then checked
    /// again, without any request. Keep it across restarts.
    func generation() async throws -> UInt64

    /// Calls `body` once for every secret: a name of the app's choosing that comes back with a
    /// match, and 16 to 1024 bytes (others are passed over).
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
        /// There is one of this name already.
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
    private static let counter = ".generation"

    private let path: String

    /// The secrets of a profile; they lie in `secrets` below its state directory.
    public init(stateDirectory: String) { path = stateDirectory + "/secrets" }

    /// The names, sorted.
    public func names() throws(Fault) -> [String] {
        guard Files.exists(path) else { return [] }
        try check()
        return try Self.usable { () throws(FileError) in
            try Files.names(in: path).filter(Self.isName).sorted()
        }
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

    /// Adds a secret. A running client checks the past for it at once.
    public func add(_ secret: Span<UInt8>, named name: String) throws(Fault) {
        var copy = Array(copying: secret)
        defer { copy.wipe() }
        try add([(name, copy)])
    }

    /// Adds secrets, all or none. A running client checks the past for them at once.
    public func add(_ secrets: [(name: String, secret: [UInt8])]) throws(Fault) {
        for (name, secret) in secrets {
            guard Self.isName(name) else { throw .name }
            guard Self.allowedByteCounts.contains(secret.count) else { throw .size }
            guard !Files.exists(file(name)) else { throw .exists }
        }
        try Self.usable { () throws(FileError) in
            if !Files.exists(path) { try Files.makeDirectory(path) }
        }
        try check()
        var known: [[UInt8]: String] = [:]
        try lend { name, bytes in known[Array(copying: bytes)] = name }
        for (name, secret) in secrets {
            if let other = known.updateValue(name, forKey: secret) { throw .same(as: other) }
        }
        var made: [String] = []
        do throws(FileError) {
            // First the files, then the number: a crash in between is secrets found later.
            for (name, secret) in secrets {
                try Files.create(file(name), with: secret.span)
                made.append(name)
            }
            let next = Array(String(try readGeneration() &+ 1).utf8)
            try Files.replace(file(Self.counter), with: next.span)
        } catch {
            for name in made { try? remove(named: name) }
            throw .unusable
        }
        ChangeNotifier.notify(String(path.dropLast("/secrets".count)))
    }

    /// Removes a secret; its bytes are overwritten first.
    public func remove(named name: String) throws(Fault) {
        guard Self.isName(name), Files.exists(file(name)) else { throw .missing }
        try check()
        try Self.usable { () throws(FileError) in
            let open = try OpenFile(file(name), flags: O_WRONLY)
            let zeros = [UInt8](repeating: 0, count: try open.status().size)
            try open.write(zeros.span)
            try open.synchronize()
            try Files.remove(file(name))
        }
    }

    /// A number that grows with every secret added.
    public func generation() throws(Fault) -> UInt64 {
        guard Files.exists(path) else { return 0 }
        try check()
        return try Self.usable { () throws(FileError) in try readGeneration() }
    }

    /// Reads and lends every secret.
    public func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) throws(Fault) {
        for name in try names() {
            try Self.usable { () throws(FileError) in
                guard try FileStatus(of: file(name)).isPrivate else {
                    throw FileError(.read, EPERM)
                }
                var bytes = try Files.read(file(name), limit: Self.allowedByteCounts.upperBound)
                defer { bytes.wipe() }
                body(name, bytes.span)
            }
        }
    }

    private func file(_ name: String) -> String { path + "/" + name }

    private func check() throws(Fault) {
        guard let status = try? FileStatus(of: path), status.isDirectory, status.isPrivate else {
            throw .unusable
        }
    }

    private static func usable<Result>(
        _ body: () throws(FileError) -> Result
    ) throws(Fault) -> Result {
        try mapError({ _ in Fault.unusable }, body)
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
