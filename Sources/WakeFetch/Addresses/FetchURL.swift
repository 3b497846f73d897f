import WakeSystem

/// A URL that may be fetched: `https`, or `http` to a loopback host or an onion service; ASCII, no
/// user, no fragment, no dot segments. In canonical form (scheme and host in lower case, no default
/// port, a path), so that equal addresses are equal bytes and libcurl has nothing to interpret.
package struct FetchURL: Sendable, Hashable, Redacted {
    package enum Scheme: String, Sendable, Hashable {
        case http, https

        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The location of the host by its name.
    package enum Reach: Sendable, Hashable { case loopback, onion, network }

    /// Longer ones are refused.
    package static let maximumLength = 2048

    package let scheme: Scheme
    package let reach: Reach
    package let port: UInt16
    package let bytes: [UInt8]
    private let hostEnd: Int

    /// - Throws: `invalidURL` for all other text.
    package init(_ text: [UInt8]) throws(FetchError) { try self.init(text, .https) }

    /// An address that a cloud gives its machines: `http` to its metadata server is allowed, too.
    package init?(metadata text: String) {
        guard let url = try? FetchURL(Array(text.utf8), .metadata) else { return nil }
        self = url
    }

    /// An address that the operator names within a network of their own: `http`, too.
    package init?(ownNetwork text: String) {
        guard let url = try? FetchURL(Array(text.utf8), .http) else { return nil }
        self = url
    }

    /// What may be asked of a host elsewhere.
    private enum Elsewhere { case https, http, metadata }

    /// Google's by its name comes first.
    package static let metadataHosts = [
        "metadata.google.internal", "169.254.169.254", "[fd20:ce::254]", "[fd00:ec2::254]",
    ]

    private init(_ text: [UInt8], _ elsewhere: Elsewhere) throws(FetchError) {
        // RFC 3986 §2: visible ASCII only; everything else must come percent-encoded.
        guard text.count <= Self.maximumLength, text.allSatisfy({ (0x21...0x7E).contains($0) }),
            let (scheme, rest) = Self.scheme(of: text)
        else { throw .invalidURL }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        guard let (host, port) = Self.hostAndPort(of: authority) else { throw .invalidURL }
        let lowered = host.map(\.lowercased)
        var target = Array(rest[(end ?? rest.endIndex)...])
        if target.first != UInt8(ascii: "/") { target.insert(UInt8(ascii: "/"), at: 0) }
        guard let reach = Self.reach(of: lowered[...]), Self.isTarget(target),
            scheme == .https || reach != .network || Self.isPlain(lowered, elsewhere)
        else { throw .invalidURL }
        self.scheme = scheme
        self.reach = reach
        self.port = port ?? scheme.defaultPort
        var bytes = Array("\(scheme.rawValue)://".utf8) + lowered
        hostEnd = bytes.count
        if self.port != scheme.defaultPort { bytes += Array(":\(self.port)".utf8) }
        self.bytes = bytes + target
    }

    private static func isPlain(_ host: [UInt8], _ elsewhere: Elsewhere) -> Bool {
        switch elsewhere {
        case .https: false
        case .http: true
        case .metadata: metadataHosts.contains { host == Array($0.utf8) }
        }
    }

    package init(_ text: String) throws(FetchError) { try self.init(Array(text.utf8)) }

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
        bytes[..<hostEnd] + [UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
    }
}

/// The parser, which refuses what two programs might read differently.
extension FetchURL {
    private static func scheme(of text: [UInt8]) -> (Scheme, ArraySlice<UInt8>)? {
        for scheme in [Scheme.https, .http] {
            let prefix = Array("\(scheme.rawValue)://".utf8)
            guard text.prefix(prefix.count).map(\.lowercased) == prefix else { continue }
            return (scheme, text[prefix.count...])
        }
        return nil
    }

    /// No `@`: user info makes an address look like another.
    private static func hostAndPort(
        of authority: ArraySlice<UInt8>
    ) -> (host: ArraySlice<UInt8>, port: UInt16?)? {
        let hostEnd: Int?
        if authority.first == UInt8(ascii: "[") {
            guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            hostEnd = bracket + 1
        } else {
            hostEnd = authority.firstIndex(of: UInt8(ascii: ":"))
        }
        guard let hostEnd, hostEnd < authority.endIndex else { return (authority, nil) }
        guard authority[hostEnd] == UInt8(ascii: ":"),
            let port = authority[(hostEnd + 1)...].decimal(upTo: 65535), port > 0
        else { return nil }
        return (authority[..<hostEnd], UInt16(port))
    }

    /// The location of `host` by its name; nil if it is no host.
    static func reach(of host: ArraySlice<UInt8>) -> Reach? {
        if host.first == UInt8(ascii: "[") { return reachOfBracketed(host) }
        guard (1...253).contains(host.count) else { return nil }
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel), let last = labels.last, let first = last.first else {
            return nil
        }
        // A last label that starts with a digit makes getaddrinfo(3) try inet_aton(3), which reads
        // `127.1`, `0177.0.0.1`, `2130706433` and `0x7f000001` as addresses. No top-level domain
        // starts with one (RFC 1123 §2.1), so only plain dotted decimals remain.
        if first.isDigit {
            let numbers = labels.compactMap { $0.decimal(upTo: 255) }
            guard numbers.count == 4, labels.count == 4 else { return nil }
            return numbers[0] == 127 ? .loopback : .network
        }
        if labels.count > 1, last.elementsEqual("onion".utf8) { return .onion }
        return host.elementsEqual("localhost".utf8) ? .loopback : .network
    }

    /// Whether `host` is a DNS name and no writing of an address, known to getaddrinfo(3) or not.
    static func isName(_ host: ArraySlice<UInt8>) -> Bool {
        guard host.first != UInt8(ascii: "["), reach(of: host) != nil else { return false }
        let last = host.split(separator: UInt8(ascii: ".")).last?.first ?? UInt8(ascii: "0")
        return !last.isDigit
    }

    /// RFC 3986 §3.2.2, without zone and IPvFuture.
    private static func reachOfBracketed(_ host: ArraySlice<UInt8>) -> Reach? {
        guard host.count >= 4, host.last == UInt8(ascii: "]") else { return nil }
        let text = Array(host.dropFirst().dropLast())
        guard IPAddress(text)?.family == .v6 else { return nil }
        return text.elementsEqual("::1".utf8) ? .loopback : .network
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        guard (1...63).contains(label.count) else { return false }
        guard label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else {
            return false
        }
        return label.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
    }

    private static func isTarget(_ target: [UInt8]) -> Bool {
        let query = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        var index = 0
        while index < target.count {
            let byte = target[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < target.count, target[index + 1].isHexDigit,
                    target[index + 2].isHexDigit
                else { return false }
                index += 3
                continue
            }
            // RFC 3986 §3.3, §3.4: pchar, `/`, and `?` once the query has begun; no fragment.
            guard byte.isAlphanumeric || "-._~!$&'()*+,;=:@/?".utf8.contains(byte) else {
                return false
            }
            index += 1
        }
        let path = target[..<query]
        return !path.split(separator: UInt8(ascii: "/")).contains(where: isDotSegment)
    }

    /// `.` and `..`, also percent-encoded: resolving them would change the request.
    private static func isDotSegment(_ segment: ArraySlice<UInt8>) -> Bool {
        let plain = String(decoding: segment.map(\.lowercased), as: UTF8.self)
        return [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(plain)
    }
}
