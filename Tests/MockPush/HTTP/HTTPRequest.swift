import WakeSystem

/// One request as it came, by HTTP/1.1 or HTTP/2. Names of fields are in lower case.
struct HTTPRequest {
    var method = ""
    /// Path and query.
    var path = ""
    /// Host and port.
    var authority = ""
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// Bytes of the body, kept or not.
    var bodyCount = 0
    var isHTTP2 = false
    /// It came by TLS.
    var isSecure = false
    /// The index of the service's endpoint.
    var endpoint = 0
    /// The number of its connection.
    var connection = 0

    /// The value of a field that occurs once; nil otherwise.
    func field(_ name: String) -> String? {
        var found: String?
        for field in fields where field.name == name {
            if found != nil { return nil }
            found = field.value
        }
        return found
    }

    func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

    /// The authority without its port, in lower case.
    var host: String {
        guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else {
            return authority.lowercased()
        }
        return authority[..<colon].lowercased()
    }

    /// `https://host:port` as RFC 6454 §6.2 has it.
    var origin: String {
        var name = authority.lowercased()
        let usual = isSecure ? ":443" : ":80"
        if name.hasSuffix(usual) { name.removeLast(usual.count) }
        return (isSecure ? "https://" : "http://") + name
    }

    /// Bytes of a body that are kept.
    private static let bodyLimit = 1 << 20

    mutating func keep(_ part: Span<UInt8>) {
        bodyCount += part.count
        guard body.count + part.count <= Self.bodyLimit else { return }
        body += part.array
    }
}
