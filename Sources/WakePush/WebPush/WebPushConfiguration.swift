package import WakeFetch
package import WakeModel

/// The section `[webpush]` of the configuration: absent, there is no such gateway.
package struct WebPushConfiguration: Sendable, Equatable {
    package enum Body: Sendable, Equatable {
        case empty, byte
    }

    /// The destination of every connection instead of the push service's address.
    package struct Detour: Sendable, Equatable {
        package let address: IPAddress
        package let port: UInt16
    }

    package var key: String
    /// The contact for push services: `mailto:` or `https:`.
    package var subject: String?
    package var hosts = PushHostRules.known
    package var body = Body.empty
    package var authorityFile: String?
    package var connect: Detour?
    /// Networks that are allowed although they are not global.
    package var networks: [IPNetwork] = []
    package var translation = AddressTranslation.wellKnown
    /// Whether heartbeats are for browsers, too, where people see every push.
    package var heartbeat = false
    /// Requests in flight to one host.
    package var perHost = WebPushLimits().perHost

    package init(key: String) { self.key = key }

    /// The keys of the section; paths are relative to the file's directory.
    package static let words = [
        SettingKey(
            "key", "the path of a key file made with reveille keygen --kind vapid",
            "The VAPID key (RFC 8292); apps subscribe with its public half, which `check` shows."),
        SettingKey(
            "subject", "mailto: and an address, or an https: address, of a domain that you have",
            "Whom push services may write to; Apple's endpoints are refused without it."),
        SettingKey(
            "hosts", "known, any, or host names such as push.example.org and *.example.org",
            usual: "known", "The hosts whose endpoints are taken, several with commas between."),
        SettingKey(
            "body", "empty or byte", usual: "empty",
            "The body of a push to an endpoint without keys: some UnifiedPush services refuse an "
                + "empty one."),
        SettingKey(
            "ca", "the path of a PEM file", "The authorities to trust instead of the system's."),
        SettingKey(
            "connect", "a numeric ADDRESS:PORT, such as 127.0.0.1:8443 or [::1]:8443",
            "The destination of every connection, such as a proxy's, instead of the endpoint's."),
        SettingKey(
            "networks", "networks such as 10.1.0.0/16, with commas between",
            "Networks of your own that endpoints may lead to, although they are not global."),
        SettingKey(
            "nat64", "prefixes such as 2001:db8:64::/96, with commas between",
            "NAT64 prefixes of your network beside 64:ff9b::/96 and 64:ff9b:1::/48: an address "
                + "behind one is judged by the IPv4 address inside."),
        SettingKey(
            "heartbeat", "on or off", usual: "off",
            "Heartbeats also to browsers, where people see every push."),
        SettingKey(
            "per-host", "a whole number from 1 to 256", usual: "\(WebPushLimits().perHost)",
            "Requests in flight to one host."),
    ]

    /// From the section, with absolute paths; nil without keys. Throws the first fault.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        let values = SectionValues(section)
        self.init(key: try values.required("key"))
        authorityFile = section["ca"]
        subject = try values.value("subject") { Self.isSubject($0) ? $0 : nil }
        hosts = try values.value("hosts") { PushHostRules(list: $0) } ?? hosts
        body = try values.choice("body", ["empty": .empty, "byte": .byte]) ?? .empty
        connect = try values.value("connect") { Detour($0) }
        networks = try values.value("networks") { Self.networks($0) } ?? networks
        translation =
            try values.value("nat64") {
                Self.networks($0).flatMap { AddressTranslation(prefixes: $0) }
            } ?? translation
        heartbeat = try values.choice("heartbeat", ["on": true, "off": false]) ?? false
        perHost = try values.number("per-host", in: 1...256) ?? perHost
    }

    private static func networks(_ text: String) -> [IPNetwork]? {
        let words = text.split { $0 == "," || $0 == " " || $0 == "\t" }
        let networks = words.compactMap { IPNetwork(String($0)) }
        return networks.isEmpty || networks.count < words.count ? nil : networks
    }

    /// RFC 8292 §2.1: `mailto:` (RFC 6068) or `https:`. Visible ASCII, and a domain that others can
    /// write to: Apple looks it up.
    private static func isSubject(_ text: String) -> Bool {
        let isMail = text.hasPrefix("mailto:")
        guard isMail || text.hasPrefix("https://"), text.utf8.count <= 262,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
        else { return false }
        var domain = text.dropFirst(isMail ? 7 : 8).prefix { $0 != "?" && $0 != "#" }
        if isMail {
            guard let at = domain.lastIndex(of: "@"), at > domain.startIndex else { return false }
            domain = domain[domain.index(after: at)...]
        } else {
            domain = domain.prefix { $0 != "/" && $0 != ":" }
        }
        // RFC 2606 §2, RFC 6761 §6.2 and §6.5; the other reserved names are no endpoint's either.
        let last = domain.split(separator: ".").last?.lowercased()
        guard let last, !["test", "example"].contains(last), !domain.contains("/") else {
            return false
        }
        return PushEndpoint(Array("https://\(domain)/".utf8).span) != nil
    }

    /// Reads the authorities to trust: faults show at the start, not in a round.
    package func checkAuthorities() throws(PushEngineError) {
        guard authorityFile != nil else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }

    package func vapidKey() throws(VAPIDKeyError) -> VAPIDKey { try VAPIDKey(file: key) }

    var policy: EndpointPolicy {
        EndpointPolicy(
            rules: hosts, networks: networks, translation: translation,
            fixedAddresses: connect.map { [$0.address] }, hasSubject: subject != nil)
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
