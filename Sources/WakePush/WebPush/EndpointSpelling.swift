package import WakeModel
import WakeSystem

/// One name for all spellings of an endpoint, so that a device that is registered under many of
/// them is woken once. Services read paths and queries less strictly than they write them: for the
/// known ones what they would not write is refused, and what is left of the name is the token that
/// they made.
struct EndpointSpelling {
    /// What endpoints are compared by.
    let name: [UInt8]

    /// From this length on the last segment of a path is taken for a token of a service's own
    /// making, whatever the path before it: `/fcm/send/` and `/wp/` lead to the same browser.
    private static let tokenBytes = 20

    /// - Returns: nil when it leads to a known service and is not what that one gives out.
    init?(_ endpoint: Span<UInt8>, _ parts: PushEndpoint) {
        let host = endpoint.extracting(parts.host).array.map(\.lowercased)
        let port = endpoint[parts.host.upperBound] == UInt8(ascii: ":") ? ":443".utf8.count : 0
        let start = parts.host.upperBound + port
        let target = endpoint.extracting(start..<endpoint.count).array
        let kind = PushHostKind(name: host)
        guard kind != .other || PushHostKind.isUnifiedPush(host) else {
            name = host + Self.normal(target)
            return
        }
        let cut = target.firstIndex(of: UInt8(ascii: "?"))
        let query = cut.map { target[($0 + 1)...] }
        let segments = target[..<(cut ?? target.endIndex)].dropFirst()
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Self.decoded)
        let group = kind == .other ? host : Array("\(kind.name):".utf8)
        if kind == .microsoft, let query {
            guard let token = Self.windowsToken(query) else { return nil }
            name = group + token
            return
        }
        // Topics of ntfy; whatever else has a query is nobody's.
        let isTopic = kind == .other && segments.count == 1
        guard query?.elementsEqual("up=1".utf8) ?? true, query == nil || isTopic,
            segments.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isPlain) }),
            let token = segments.last
        else { return nil }
        guard token.count >= Self.tokenBytes, !isTopic else {
            name = host + segments.flatMap { [UInt8(ascii: "/")] + $0 }
            return
        }
        // Google joins two with a colon, Conversations three (PASETO) with dots.
        let texts = token.split { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
        name = group + texts.flatMap { Self.canonical($0) + [0] }
    }

    /// `token=` and base64 of either alphabet, whatever the path and the server.
    private static func windowsToken(_ query: ArraySlice<UInt8>) -> [UInt8]? {
        let prefix = Array("token=".utf8)
        guard query.starts(with: prefix) else { return nil }
        var token = decoded(query.dropFirst(prefix.count))
        for _ in 0..<2 where token.last == UInt8(ascii: "=") { token.removeLast() }
        for index in token.indices {
            switch token[index] {
            case UInt8(ascii: "+"): token[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): token[index] = UInt8(ascii: "_")
            case let byte where byte.isAlphanumeric || "-_".utf8.contains(byte): break
            default: return nil
            }
        }
        return token.isEmpty ? nil : canonical(token[...])
    }

    /// Without the last character of base64 where it has bits that no byte has: readers ignore them
    /// (RFC 4648 §3.5). No two tokens differ in that one alone.
    private static func canonical(_ text: ArraySlice<UInt8>) -> [UInt8] {
        Array(text.count % 4 == 0 ? text : text.dropLast())
    }

    /// RFC 3986 §6.2.2: unreserved characters as such, digits of others in upper case.
    private static func normal(_ target: [UInt8]) -> [UInt8] {
        var (bytes, index) = ([UInt8](), 0)
        while index < target.count {
            let (byte, length) = character(target[index...])
            if length == 1 || isPlain(byte) && byte != UInt8(ascii: ":") {
                bytes.append(byte)
            } else {
                bytes += target[index..<index + length].map {
                    (0x61...0x66).contains($0) ? $0 - 0x20 : $0
                }
            }
            index += length
        }
        return bytes
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), text)
        while !rest.isEmpty {
            let (byte, length) = character(rest)
            bytes.append(byte)
            rest = rest.dropFirst(length)
        }
        return bytes
    }

    /// The first character, percent-encoded or not: a ``PushEndpoint`` has two digits after each
    /// percent sign.
    private static func character(_ text: ArraySlice<UInt8>) -> (byte: UInt8, length: Int) {
        let first = text[text.startIndex]
        guard first == UInt8(ascii: "%"), text.count >= 3,
            let high = Hex.value(text[text.startIndex + 1]),
            let low = Hex.value(text[text.startIndex + 2])
        else { return (first, 1) }
        return (high << 4 | low, 3)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || "-._~:".utf8.contains(byte)
    }
}

extension PushToken {
    /// Lends what names the receiver, however it is spelled.
    package func withCanonicalAddress<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        withAddress { address in
            guard service == .webPush, let parts = PushEndpoint(address),
                var name = EndpointSpelling(address, parts)?.name
            else { return body(address) }
            defer { name.wipe() }
            return body(name.span)
        }
    }
}
