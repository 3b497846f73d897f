private import WakeFiles
private import WakeModel

/// The provider token on disk, mode 0600, replaced by rename: restarts must not mint.
///
/// `{"version":1,"token":"…","iat":1700000000,"uptime":12345,"boot":"<32 hexadecimal digits>"}`
package struct ProviderTokenFile: Sendable {
    private let path: String

    /// Bytes of a file at most: a token has about 200.
    private static let limit = 4096

    package init(path: String) {
        self.path = path
    }

    /// The kept token; nil when there is none, or none that these credentials would make.
    /// - Throws: when there is a file that cannot be read: minting then could be once too often.
    func read(_ credentials: APNsCredentials) throws(ProviderTokenError) -> ProviderToken? {
        var bytes: [UInt8]
        do throws(FileError) {
            let status = try FileStatus(of: path)
            guard status.isPrivate, status.isRegular else { return nil }
            bytes = try Files.read(path, limit: Self.limit)
        } catch {
            if error.isMissing { return nil }
            throw .file(error)
        }
        defer { wipe(&bytes) }
        do throws(JSONError) {
            return try Self.decode(bytes, credentials)
        } catch {
            return nil
        }
    }

    /// Keeps a token; only then may it be used.
    func write(_ token: ProviderToken) throws(ProviderTokenError) {
        var text = JSONText(capacity: 512)
        text.beginObject()
        text.member("version", number: 1)
        token.text.withSpan { text.member("token", string: $0) }
        text.member("iat", number: token.minted.wall)
        text.member("uptime", number: token.minted.uptime)
        text.member("boot", string: Hex.encode(token.minted.boot.span).span)
        text.endObject()
        do throws(FileError) {
            try Files.replace(path, with: text.bytes.span)
        } catch {
            throw .file(error)
        }
    }

    private static func decode(
        _ bytes: [UInt8], _ credentials: APNsCredentials
    ) throws(JSONError) -> ProviderToken? {
        var version: Int?
        var token: [UInt8]?
        var (wall, uptime): (Int?, Int?)
        var boot: [UInt8]?
        var scanner = try JSONScanner(bytes, depthLimit: 1)
        try scanner.document { scanner throws(JSONError) in
            try scanner.object { scanner, name throws(JSONError) in
                switch String(decoding: name, as: UTF8.self) {
                case "version": version = try scanner.integer()
                case "token": token = try scanner.string()
                case "iat": wall = try scanner.integer()
                case "uptime": uptime = try scanner.integer()
                case "boot":
                    let text = try scanner.string()
                    boot = Hex.decode(text.span)
                default: throw JSONError.unknownMember
                }
            }
        }
        guard version == 1, let token, let wall, let uptime, let boot, boot.count == 16 else {
            return nil
        }
        let minted = ClockReading(wall: wall, uptime: uptime, boot: boot)
        return ProviderToken(text: token.span, minted: minted, credentials: credentials)
    }
}
