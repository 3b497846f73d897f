private import Glibc
import WakeFiles
import WakeModel

/// Secrets as files in a directory of the profile, one each, readable by its owner alone.
public struct SecretDirectory: LocalSecrets {
    /// Why secrets could not be read or changed.
    public enum Fault: Error, Sendable, Equatable {
        /// A name is 1 to 64 letters, digits, dots, hyphens and underscores, and begins with none
        /// of the last three.
        case name
        /// A secret has 16 to 1024 bytes.
        case size
        /// There is one of this name already.
        case exists
        /// The same bytes are there already, under this name. A match is of the secret and not of
        /// its name: it would be told once, under one of the two.
        case same(as: String)
        /// There is none of this name.
        case missing
        /// Others can read or write it. Or the disk is full, or broken.
        case unusable
    }

    /// How many bytes a secret may have.
    public static let allowedByteCounts = 16...1024
    private static let counter = ".generation"

    private let path: String

    /// The secrets of a profile; they lie in `secrets` below its state directory.
    public init(stateDirectory: String) {
        path = stateDirectory + "/secrets"
    }

    /// The names, sorted.
    public func names() throws(Fault) -> [String] {
        guard Files.exists(path) else { return [] }
        try check()
        do throws(FileError) {
            return try Files.names(in: path).filter(Self.isName).sorted()
        } catch {
            throw .unusable
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
        defer { wipe(&copy) }
        try add([(name, copy)])
    }

    /// Adds secrets, all or none. A running client checks the past for them at once.
    public func add(_ secrets: [(name: String, secret: [UInt8])]) throws(Fault) {
        for (name, secret) in secrets {
            guard Self.isName(name) else { throw .name }
            guard Self.allowedByteCounts.contains(secret.count) else { throw .size }
            guard !Files.exists(file(name)) else { throw .exists }
        }
        do throws(FileError) {
            if !Files.exists(path) { try Files.makeDirectory(path) }
        } catch {
            throw .unusable
        }
        try check()
        try refuseSame(secrets)
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
        Doorbell.ring(String(path.dropLast("/secrets".count)))
    }

    /// One secret under two names would be one match: nobody could say of which.
    private func refuseSame(_ secrets: [(name: String, secret: [UInt8])]) throws(Fault) {
        var known: [[UInt8]: String] = [:]
        try lend { name, bytes in known[Array(copying: bytes)] = name }
        for (name, secret) in secrets {
            if let other = known.updateValue(name, forKey: secret) { throw .same(as: other) }
        }
    }

    /// Removes a secret; its bytes are overwritten first.
    public func remove(named name: String) throws(Fault) {
        guard Self.isName(name), Files.exists(file(name)) else { throw .missing }
        try check()
        do throws(FileError) {
            let open = try OpenFile(file(name), flags: O_WRONLY)
            let zeros = [UInt8](repeating: 0, count: try open.status().size)
            try open.write(zeros.span)
            try open.synchronize()
            try Files.remove(file(name))
        } catch {
            throw .unusable
        }
    }

    /// A number that grows with every secret added.
    public func generation() throws(Fault) -> UInt64 {
        guard Files.exists(path) else { return 0 }
        try check()
        do throws(FileError) {
            return try readGeneration()
        } catch {
            throw .unusable
        }
    }

    /// Reads and lends every secret.
    public func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) throws(Fault) {
        for name in try names() {
            do throws(FileError) {
                guard try FileStatus(of: file(name)).isPrivate else {
                    throw FileError(.read, EPERM)
                }
                var bytes = try Files.read(file(name), limit: Self.allowedByteCounts.upperBound)
                defer { wipe(&bytes) }
                body(name, bytes.span)
            } catch {
                throw .unusable
            }
        }
    }

    private func file(_ name: String) -> String { path + "/" + name }

    private func check() throws(Fault) {
        guard let status = try? FileStatus(of: path), status.isDirectory, status.isPrivate else {
            throw .unusable
        }
    }

    private func readGeneration() throws(FileError) -> UInt64 {
        guard Files.exists(file(Self.counter)) else { return 0 }
        let text = try Files.read(file(Self.counter), limit: 32)
        return UInt64(String(decoding: text, as: UTF8.self)) ?? 0
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...64).contains(name.utf8.count), let first = name.utf8.first else { return false }
        let isLetterOrDigit = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        return isLetterOrDigit(first)
            && name.utf8.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
    }
}
