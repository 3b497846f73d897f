private import Glibc
private import WakeFiles
private import WakeModel

/// The key by which push services know this installation (RFC 8292). Apps subscribe with its public
/// half, and only whoever has the private half may then wake them.
package struct VAPIDKey: Sendable {
    let key: P256Key
    /// The public half as apps and push services take it: 65 bytes as 87 characters of base64url
    /// (RFC 8292 §3.2).
    package let publicText: String

    /// Bytes of a key file at most; ours have 241.
    private static let fileLimit = 8192

    /// Reads a private key on P-256, PKCS #8 as PEM.
    /// - Throws: `fileNotPrivate` when others can read it: whoever has it wakes all browsers.
    package init(file path: String) throws(VAPIDKeyError) {
        var pem = try Self.read(path)
        defer { wipe(&pem) }
        do throws(SigningError) {
            let key = try P256Key(.privateKey, pem: pem.span)
            try self.init(key)
        } catch {
            throw .key(error)
        }
    }

    /// - Throws: `outOfMemory`.
    init(_ key: P256Key) throws(SigningError) {
        guard let point = key.publicPoint() else { throw .outOfMemory }
        self.key = key
        publicText = String(decoding: Base64URL.encode(point.span), as: UTF8.self)
    }

    /// Makes a new key in a new file, mode 0600. A file that is there is left alone.
    /// - Throws: `.file` with `exists` when there is one.
    package static func create(_ path: String) throws(VAPIDKeyError) -> VAPIDKey {
        var pem: [UInt8]
        do throws(SigningError) {
            pem = try P256Key.generate()
        } catch {
            throw .key(error)
        }
        defer { wipe(&pem) }
        let document = pem
        do throws(FileError) {
            try Files.create(path, with: document.span, mode: 0o600)
        } catch {
            throw .file(error)
        }
        return try VAPIDKey(file: path)
    }

    private static func read(_ path: String) throws(VAPIDKeyError) -> [UInt8] {
        let content: [UInt8]?
        do throws(FileError) {
            // Status and bytes of the same open file: a name could be exchanged in between.
            let file = try OpenFile(path, flags: O_RDONLY)
            let status = try file.status()
            let isUsable = status.isPrivate && status.isRegular
            content = isUsable ? try file.read(at: 0, count: fileLimit) : nil
        } catch {
            throw .file(error)
        }
        guard let content else { throw .fileNotPrivate }
        return content
    }
}

extension VAPIDKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(vapid key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
