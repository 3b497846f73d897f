import Glibc

/// The parts of an address, taken from its bytes: a pure reader that refuses whatever two programs
/// might read differently.
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
        let lowered = host.map(Self.lower)
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
            if text.prefix(name.count).map(lower) == name {
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
            let port = decimal(authority[(hostEnd + 1)...], upTo: 65535), port > 0
        else { return nil }
        return (authority[..<hostEnd], UInt16(port))
    }

    // MARK: Host

    /// Where `host` is, by its name; nil if it is no host.
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
        if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            let numbers = labels.compactMap { decimal($0, upTo: 255) }
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
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last)
    }

    private static func reachOfBracketed(_ host: ArraySlice<UInt8>) -> FetchURL.Reach? {
        guard host.count >= 4, host.last == UInt8(ascii: "]") else { return nil }
        let address = host.dropFirst().dropLast()
        // No zone, no IPvFuture: RFC 3986 §3.2.2.
        let isPlain = address.allSatisfy { byte in
            isHex(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
        }
        guard isPlain, address.count <= 45 else { return nil }
        var binary = in6_addr()
        let text = String(decoding: address, as: UTF8.self)
        guard unsafe inet_pton(AF_INET6, text, &binary) == 1 else { return nil }
        return address.elementsEqual("::1".utf8) ? .loopback : .network
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
                guard index + 2 < target.count, isHex(target[index + 1]), isHex(target[index + 2])
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

    /// `.` and `..`, also when percent-encoded: whoever resolves them changes what was asked for.
    private static func isDotSegment(_ segment: ArraySlice<UInt8>) -> Bool {
        let plain = String(decoding: segment.map(lower), as: UTF8.self)
        return [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(plain)
    }

    // MARK: Bytes

    private static func decimal(_ digits: ArraySlice<UInt8>, upTo limit: Int) -> Int? {
        guard let first = digits.first, digits.count <= 5 else { return nil }
        guard digits.count == 1 || first != UInt8(ascii: "0") else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value <= limit ? value : nil
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        let lowered = lower(byte)
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowered)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(lower(byte))
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
