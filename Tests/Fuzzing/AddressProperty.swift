import Glibc
import WakeFetch
import WakeModel
import WakeSystem

/// Addresses of push services and feeds: one form, and nothing that the C library reads otherwise.
enum AddressProperty {
    /// - Parameter input: a URL, or an IP address.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        let isEndpoint = try checkEndpoint(input)
        let isURL = try checkURL(input)
        return try checkNumeric(input) || isEndpoint || isURL
    }

    private static func checkEndpoint(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let endpoint = PushEndpoint(input.span) else { return false }
        try require(input.count <= Limits.pushTokenBytes, "an endpoint beyond its row")
        try require(
            input.allSatisfy { (0x21...0x7E).contains($0) } && !input.contains(0x23),
            "a byte that no endpoint has")
        let host = Array(input[endpoint.host])
        let rest = input[endpoint.host.upperBound...]
        try require(endpoint.host.lowerBound == 8, "user information")
        try require(
            rest.starts(with: "/".utf8) || rest.starts(with: ":443/".utf8), "another port")
        try require(host.contains(0x2E) && !host.contains(0x40), "a host that is no name")
        try require(number(host) == nil, "a host that inet_aton(3) reads as an address")
        let url = try? FetchURL(input)
        try require(url?.port == 443 && url?.scheme == .https, "two readings of an endpoint")
        let origin = Array("https://".utf8) + host.map(\.lowercased)
        try require(url?.bytes.starts(with: origin + [0x2F]) == true, "two hosts of an endpoint")
        return true
    }

    private static func checkURL(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let url = try? FetchURL(input) else { return false }
        try require(
            url.bytes.allSatisfy { (0x21...0x7E).contains($0) } && !url.bytes.contains(0x23),
            "a byte that no address has")
        try require((try? FetchURL(url.bytes)) == url, "an address of two forms")
        let start = url.scheme.rawValue.utf8.count + 3
        let authority = url.bytes.dropFirst(start).prefix { $0 != 0x2F }
        try require(!authority.contains(0x40), "user information")
        let isLiteral = authority.first == 0x5B
        let host = isLiteral ? authority[...] : authority.prefix { $0 != 0x3A }
        if !isLiteral, let value = number(Array(host)) {
            // getaddrinfo(3) reads what inet_aton(3) reads: of four plain numbers alone.
            try require(IPAddress(Array(host))?.family == .v4, "an address in disguise")
            try require((url.reach == .loopback) == (value >> 24 == 127), "another reach")
        }
        try require(url.scheme == .https || url.reach != .network, "http to the network")
        return true
    }

    /// Compares our reader of numeric addresses with inet_pton(3).
    private static func checkNumeric(_ input: [UInt8]) throws(Violation) -> Bool {
        guard !input.contains(0) else { return false }
        let text = String(decoding: input, as: UTF8.self)
        var bytes = [UInt8](repeating: 0, count: 16)
        var known: [UInt8]?
        if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
            known = Array(bytes[..<4])
        } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
            known = bytes
        }
        let address = IPAddress(input)
        try require(address?.bytes == known, "read otherwise than by inet_pton(3)")
        guard let address else { return false }
        try require(IPAddress(address.text) == address, "an address that changes")
        return true
    }

    /// The address that the C library sees in a host.
    private static func number(_ host: [UInt8]) -> UInt32? {
        var address = in_addr()
        let text = String(decoding: host, as: UTF8.self)
        return unsafe inet_aton(text, &address) != 0 ? UInt32(bigEndian: address.s_addr) : nil
    }
}
