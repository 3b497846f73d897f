package import WakeFetch

/// The section `[webpush]` of the configuration: absent, there is no such gateway.
package struct WebPushConfiguration: Sendable, Equatable {
    /// What is sent besides fields.
    package enum Body: Sendable, Equatable {
        case empty
        case byte
    }

    /// Where every connection goes instead of the push service's address.
    package struct Detour: Sendable, Equatable {
        package let address: IPAddress
        package let port: UInt16
    }

    /// The file of the VAPID key.
    package var key: String
    /// Whom push services may write to: `mailto:` or `https:`.
    package var subject: String?
    package var hosts = PushHostRules.known
    package var body = Body.empty
    /// Authorities to trust instead of the system's.
    package var authorityFile: String?
    package var connect: Detour?
    /// Addresses inside are taken although they are not global.
    package var networks: [IPNetwork] = []
    /// Requests on their way to one host.
    package var perHost = 16

    package init(key: String) {
        self.key = key
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] = [
        ("key", "the path of a key file made with reveille keygen --kind vapid"),
        ("subject", "mailto: and an address, or an https: address"),
        ("hosts", "known, any, or host names such as push.example.org and *.example.org"),
        ("body", "empty or byte"),
        ("ca", "the path of a PEM file"),
        ("connect", "a numeric ADDRESS:PORT, such as 127.0.0.1:8443 or [::1]:8443"),
        ("networks", "networks such as 10.1.0.0/16, with commas between"),
        ("per-host", "a whole number from 1 to 256"),
    ]

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        guard let key = section["key"], !key.isEmpty else { throw .missing("key") }
        self.init(key: key)
        authorityFile = section["ca"]
        if let text = section["subject"] {
            guard Self.isSubject(text) else { throw .badValue("subject") }
            subject = text
        }
        if let text = section["hosts"] {
            guard let rules = PushHostRules(list: text) else { throw .badValue("hosts") }
            hosts = rules
        }
        switch section["body"] {
        case nil, "empty": body = .empty
        case "byte": body = .byte
        default: throw .badValue("body")
        }
        if let text = section["connect"] {
            guard let detour = Detour(text) else { throw .badValue("connect") }
            connect = detour
        }
        if let text = section["networks"] {
            networks = try Self.networks(text)
        }
        if let text = section["per-host"] {
            guard let count = Int(text), (1...256).contains(count) else {
                throw .badValue("per-host")
            }
            perHost = count
        }
    }

    private static func networks(_ text: String) throws(GatewaySectionFault) -> [IPNetwork] {
        var networks: [IPNetwork] = []
        for word in text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
            guard let network = IPNetwork(String(word)) else { throw .badValue("networks") }
            networks.append(network)
        }
        guard !networks.isEmpty else { throw .badValue("networks") }
        return networks
    }

    /// RFC 8292 §2.1: `mailto:` (RFC 6068) or `https:`. Visible ASCII.
    private static func isSubject(_ text: String) -> Bool {
        let rest: Substring
        if text.hasPrefix("mailto:") {
            rest = text.dropFirst(7)
            guard rest.contains("@") else { return false }
        } else if text.hasPrefix("https://") {
            rest = text.dropFirst(8)
        } else {
            return false
        }
        return (1...255).contains(rest.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    }

    /// Reads the authorities to trust; a file that holds none is said now and not by a round.
    package func checkAuthorities() throws(PushEngineError) {
        guard authorityFile != nil else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }

    /// Reads the key file.
    package func vapidKey() throws(VAPIDKeyError) -> VAPIDKey { try VAPIDKey(file: key) }

    var policy: EndpointPolicy {
        EndpointPolicy(
            rules: hosts, networks: networks, fixedAddresses: connect.map { [$0.address] })
    }
}

extension WebPushConfiguration {
    /// Words a mistake in the section for the operator.
    package static func message(_ fault: GatewaySectionFault) -> String {
        fault.message(section: "webpush", words: words)
    }
}

extension WebPushConfiguration.Detour {
    /// A numeric address, of version 6 in brackets, and a port.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard let address = IPAddress(String(host)), isBracketed == host.contains(":") else {
            return nil
        }
        self.init(address: address, port: port)
    }
}
