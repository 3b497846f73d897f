import WakeSystem

/// The parts of an address: a parser that refuses what two programs might read differently.
struct FetchURLParts {
    let scheme: FetchURL.Scheme
    let reach: FetchURL.Reach
    /// In lower case.
    let host: [UInt8]
    let port: UInt16
    /// Path and query, starting with `/`.
    let target: [UInt8]

    init?(_ text: [UInt8]) {
        // RFC 3986 §2: visible ASCII only; everything else must come percent-encoded.
        guard text.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        guard let (scheme, rest) = Self.scheme(of: text) else { return nil }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        guard let (host, port) = Self.hostAndPort(of: authority) else { return nil }
        let lowered = host.map(\.lowercased)
        guard let reach = Self.reach(of: lowered[...]) else { return nil }
        var target = Array(rest[(end ?? rest.endIndex)...])
        if target.first != UInt8(ascii: "/") { target.insert(UInt8(ascii: "/"), at: 0) }
        guard Self.isTarget(target) else { return nil }
        self.scheme = scheme
        self.reach = reach
        self.host = lowered
        self.port = port ?? scheme.defaultPort
        self.target = target
    }

    // MARK: Scheme and authority

    private static func scheme(of text: [UInt8]) -> (FetchURL.Scheme, ArraySlice<UInt8>)? {
        for (name, scheme) in [("https://", FetchURL.Scheme.https), ("http://", .http)] {
            let name = Array(name.utf8)
            if text.prefix(name.count).map(\.lowercased) == name {
                return (scheme, text[name.count...])
            }
        }
        return nil
    }

    /// No `@`: user info is the oldest way to make an address look like another.
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

    // MARK: Host

    /// The location of `host` by its name; nil if it is no host.
    static func reach(of host: ArraySlice<UInt8>) -> FetchURL.Reach? {
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
    private static func reachOfBracketed(_ host: ArraySlice<UInt8>) -> FetchURL.Reach? {
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
        return label.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
    }

    // MARK: Path and query

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
            // RFC 3986 §3.3, §3.4: pchar, `/`, and `?` once the query has begun. No `#`: a fragment
            // is never sent, so an address that has one is not what it seems.
            guard isAlphanumeric(byte) || "-._~!$&'()*+,;=:@/?".utf8.contains(byte) else {
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

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.lowercased)
    }
}
