/// One field of a request head. The value may be a secret: the copies made for libcurl are
/// overwritten when the transfer ends (its own send buffer is not ours to reach), and it never
/// shows in a description.
package struct FetchField: Sendable {
    package let name: StaticString
    package let value: [UInt8]

    /// `name` must be a token and none of the names that the fetcher owns; both are fixed in the
    /// program, hence preconditions. `value` is data and is checked by the fetch: visible ASCII,
    /// space and tab, not empty, else `invalidField`.
    package init(_ name: StaticString, _ value: [UInt8]) {
        precondition(Self.isAllowed(name), "not a field for a caller to set")
        self.name = name
        self.value = value
    }

    /// A field whose value is no secret.
    package init(_ name: StaticString, _ value: StaticString) {
        self.init(name, Self.bytes(of: value))
    }

    /// RFC 9110 §5.5, without obs-text. An empty value would make libcurl drop the field
    /// (CURLOPT_HTTPHEADER(3)), and white space at the ends is not part of a value.
    var isValid: Bool {
        guard let first = value.first, let last = value.last else { return false }
        guard (0x21...0x7E).contains(first), (0x21...0x7E).contains(last) else { return false }
        return value.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// `Name: value` and the zero byte that ends a C string.
    func line() -> [UInt8] {
        var line: [UInt8] = []
        let name = Self.bytes(of: name)
        line.reserveCapacity(name.count + value.count + 3)
        line += name
        line += [0x3A, 0x20]
        line += value
        line.append(0)
        return line
    }

    static func bytes(of text: StaticString) -> [UInt8] {
        Array(text.description.utf8)
    }

    /// Lower case. These decide framing, routing and linkability; they are not for callers.
    private static let owned: Set<String> = [
        "accept", "accept-encoding", "connection", "content-length", "cookie", "expect", "host",
        "keep-alive", "proxy-authorization", "proxy-connection", "range", "referer", "te",
        "trailer", "transfer-encoding", "upgrade", "user-agent",
    ]

    private static func isAllowed(_ name: StaticString) -> Bool {
        let name = name.description
        // RFC 9110 §5.6.2: letters, digits and `-` are all we ever need of token.
        let isToken = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return !name.isEmpty && isToken && !owned.contains(name.lowercased())
    }
}

extension FetchField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "FetchField(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
