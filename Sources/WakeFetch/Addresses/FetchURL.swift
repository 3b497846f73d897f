import WakeSystem

/// A URL that may be fetched: `https`, or `http` to a loopback host or an onion service; ASCII, no
/// user, no fragment, no dot segments. It is stored in one canonical form (scheme and host in lower
/// case, no default port, a path), so that equal addresses are equal bytes and libcurl has nothing
/// left to interpret.
package struct FetchURL: Sendable, Hashable, Redacted {
    /// The protection of the connection.
    package enum Scheme: Sendable, Hashable {
        case http, https

        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The location of the host by its name.
    package enum Reach: Sendable, Hashable {
        case loopback, onion, network
    }

    /// Longer ones are refused.
    package static let maximumLength = 2048

    package let scheme: Scheme
    package let reach: Reach
    package let port: UInt16
    /// The whole address.
    package let bytes: [UInt8]
    /// The end of the host in `bytes`.
    private let hostEnd: Int

    /// - Throws: `invalidURL` for all other text.
    package init(_ text: [UInt8]) throws(FetchError) {
        guard text.count <= Self.maximumLength, let parts = FetchURLParts(text) else {
            throw .invalidURL
        }
        guard parts.scheme == .https || parts.reach != .network else { throw .invalidURL }
        scheme = parts.scheme
        reach = parts.reach
        port = parts.port
        var bytes = Array((scheme == .https ? "https://" : "http://").utf8)
        bytes += parts.host
        hostEnd = bytes.count
        if port != scheme.defaultPort {
            bytes += Array(":\(port)".utf8)
        }
        bytes += parts.target
        self.bytes = bytes
    }

    /// The same from a string.
    package init(_ text: String) throws(FetchError) {
        try self.init(Array(text.utf8))
    }

    /// The address below this one: `https://host/feed` and `b/1` give `https://host/feed/b/1`.
    /// - Throws: `invalidURL` if this one has a query or the result is not a valid address.
    package func appending(_ path: String) throws(FetchError) -> FetchURL {
        let slash = UInt8(ascii: "/")
        guard !bytes.contains(UInt8(ascii: "?")), path.utf8.first != slash else {
            throw .invalidURL
        }
        return try FetchURL(bytes + (bytes.last == slash ? [] : [slash]) + path.utf8)
    }

    /// Whether scheme, host and port are the same (RFC 6454 §5).
    package func hasSameOrigin(as other: FetchURL) -> Bool {
        scheme == other.scheme && port == other.port
            && bytes[..<hostEnd] == other.bytes[..<other.hostEnd]
    }

    /// Scheme, host and port: equal for addresses of the same origin only.
    package var origin: [UInt8] {
        var origin = Array(bytes[..<hostEnd])
        origin.append(bigEndian: port)
        return origin
    }

    /// Whether these bytes are a host name or an address (IPv6 in brackets) and nothing more.
    static func isHost(_ bytes: [UInt8]) -> Bool {
        FetchURLParts.reach(of: bytes[...]) != nil
    }
}
