package import WakeModel
import WakeSystem

/// The installations whose wake-ups this service forwards, in the order in which they were allowed.
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

    package init() {}
    /// Whether the installation with this public key, 32 bytes, is allowed.
    package func contains(_ key: [UInt8]) -> Bool { keys.contains(key) }

    package mutating func allow(
        _ name: InstallationName, _ key: VerifyingKey
    ) throws(InstallationChangeError) { try add(Entry(name: name, key: key.bytes)) }

    package mutating func revoke(_ name: InstallationName) throws(InstallationChangeError) {
        guard let index = entries.firstIndex(where: { $0.name == name }) else { throw .nameUnknown }
        let entry = entries.remove(at: index)
        names.remove(entry.name)
        keys.remove(entry.key)
    }

    private mutating func add(_ entry: Entry) throws(InstallationChangeError) {
        guard entries.count < Limits.installations else { throw .tooMany }
        guard !names.contains(entry.name) else { throw .nameTaken }
        guard !keys.contains(entry.key)
        else { throw .keyTaken(entries.first { $0.key == entry.key }?.name) }
        entries.append(entry)
        names.insert(entry.name)
        keys.insert(entry.key)
    }
}

extension InstallationList: StateRecord {
    package static let format: StaticString = "installations"
    package static let version = 1
    package static let byteLimit = 256 + Limits.installations * 128

    package func encode(to state: inout JSONText) {
        state.beginArray("installations")
        for entry in entries {
            state.beginObject()
            state.member("name", string: entry.name.description)
            state.member("key", string: entry.keyText)
            state.endObject()
        }
        state.endArray()
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        self.init()
        for var object in try state.objects("installations") {
            let (name, text) = (try object.string("name"), try object.text("key"))
            // The point is validated when the key is used: thousands of them would take a second.
            guard let name = InstallationName(name), let key = Base64URL.decode(text.span),
                key.count == 32, object.isEmpty
            else { throw StateDamage() }
            do throws(InstallationChangeError) {
                try add(Entry(name: name, key: key))
            } catch { throw StateDamage() }
        }
    }
}

/// The operator's name for a self-hosted installation: 1 to 64 of `a-z`, `0-9` and `-`.
package struct InstallationName: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// - Returns: nil for anything else.
    package init?(_ text: String) {
        let isName = text.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || $0.isDigit || $0 == UInt8(ascii: "-")
        }
        guard (1...64).contains(text.utf8.count), isName else { return nil }
        description = text
    }
}

package enum InstallationChangeError: Error, Sendable, Equatable {
    case tooMany
    case nameTaken
    /// By the installation of that name.
    case keyTaken(InstallationName?)
    case nameUnknown
}
