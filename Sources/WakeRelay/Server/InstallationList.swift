private import WakeModel
package import WakeSodium
import WakeSystem

/// The installations whose wake-ups this service forwards, in the order in which they were allowed.
/// The file has one `NAME KEY` a line.
package struct InstallationList: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let name: InstallationName
        /// An Ed25519 public key, 32 bytes.
        package let key: [UInt8]

        /// 43 characters of base64url.
        package var keyText: String { String(decoding: Base64URL.encode(key.span), as: UTF8.self) }
    }

    package private(set) var entries: [Entry] = []
    private var keys: Set<[UInt8]> = []
    private var names: Set<InstallationName> = []

    /// The largest file, in bytes.
    package static let maximumBytes = Limits.installations * 109

    package init() {}

    /// Parses a file, all of it or nothing.
    package init(parsing bytes: [UInt8]) throws(InstallationListError) {
        var start = 0
        var line = 1
        while start < bytes.count {
            guard let end = bytes[start...].firstIndex(of: 0x0A) else {
                // A file that was cut ends here, or in a key too short.
                throw .line(line, .notEnded)
            }
            try add(Self.entry(bytes[start..<end], line), line)
            start = end + 1
            line += 1
        }
    }

    private static func entry(
        _ text: ArraySlice<UInt8>, _ line: Int
    ) throws(InstallationListError) -> Entry {
        guard let space = text.firstIndex(of: 0x20) else { throw .line(line, .noKey) }
        guard let name = InstallationName(text[..<space]) else { throw .line(line, .name) }
        let characters = Array(text[(space + 1)...])
        // The point is validated when the key is used: thousands of them would take a second.
        guard let key = Base64URL.decode(characters.span), key.count == 32 else {
            throw .line(line, .key)
        }
        return Entry(name: name, key: key)
    }

    private mutating func add(_ entry: Entry, _ line: Int) throws(InstallationListError) {
        do throws(InstallationChangeError) {
            try add(entry)
        } catch {
            switch error {
            case .tooMany: throw .line(line, .tooMany)
            case .nameTaken: throw .line(line, .nameTwice)
            case .keyTaken, .nameUnknown: throw .line(line, .keyTwice)
            }
        }
    }

    private mutating func add(_ entry: Entry) throws(InstallationChangeError) {
        guard entries.count < Limits.installations else { throw .tooMany }
        guard !names.contains(entry.name) else { throw .nameTaken }
        guard !keys.contains(entry.key) else {
            throw .keyTaken(entries.first { $0.key == entry.key }?.name)
        }
        entries.append(entry)
        names.insert(entry.name)
        keys.insert(entry.key)
    }

    /// Whether the installation with this public key, 32 bytes, is allowed.
    package func contains(_ key: [UInt8]) -> Bool { keys.contains(key) }

    /// Allows an installation.
    package mutating func allow(
        _ name: InstallationName, _ key: VerifyingKey
    ) throws(InstallationChangeError) { try add(Entry(name: name, key: key.bytes)) }

    /// Revokes an installation.
    package mutating func revoke(_ name: InstallationName) throws(InstallationChangeError) {
        guard let index = entries.firstIndex(where: { $0.name == name }) else { throw .nameUnknown }
        let entry = entries.remove(at: index)
        names.remove(entry.name)
        keys.remove(entry.key)
    }

    /// The content of the file.
    package var text: [UInt8] { entries.flatMap { Array("\($0.name) \($0.keyText)\n".utf8) } }
}

/// The operator's name for a self-hosted installation: 1 to 64 of `a-z`, `0-9` and `-`.
package struct InstallationName: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// - Returns: nil for anything else.
    package init?(_ text: some StringProtocol) { self.init(Array(text.utf8)[...]) }

    init?(_ bytes: ArraySlice<UInt8>) {
        let isName = bytes.allSatisfy {
            (0x61...0x7A).contains($0) || $0.isDigit || $0 == UInt8(ascii: "-")
        }
        guard (1...64).contains(bytes.count), isName else { return nil }
        description = String(decoding: bytes, as: UTF8.self)
    }
}

/// The reason why a file is no list of installations.
package enum InstallationListError: Error, Sendable, Equatable {
    package enum Reason: Sendable, Equatable, CaseIterable {
        case noKey, name, key, nameTwice, keyTwice, tooMany, notEnded

        fileprivate var description: String {
            switch self {
            case .noKey: "no key after the name"
            case .name: "a name is 1 to 64 of a-z, 0-9 and -"
            case .key: "a key is 43 characters of base64url"
            case .nameTwice: "this name stands on a line above"
            case .keyTwice: "this key stands on a line above"
            case .tooMany: "more than \(Limits.installations) installations"
            case .notEnded: "it does not end: the file was cut"
            }
        }
    }

    case line(Int, Reason)

    /// Two lines: the problem and a hint.
    package var message: String {
        switch self {
        case .line(let line, let reason):
            "line \(line): \(reason.description)\n"
                + "hint: each line is NAME KEY; nobody is let through while one is wrong"
        }
    }
}

/// The reason why an installation is not allowed, or not revoked.
package enum InstallationChangeError: Error, Sendable, Equatable {
    case tooMany
    case nameTaken
    /// By the installation of that name.
    case keyTaken(InstallationName?)
    case nameUnknown
}
