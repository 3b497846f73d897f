package import WakeFetch
package import WakeModel
package import WakeSystem

/// The keys of a section `[apns]` or `[fcm]` whose push tokens the app's owner wakes.
package struct RelayConfiguration: Sendable, Equatable {
    /// The relay's, without a path.
    package let url: FetchURL
    package let key: String
    /// Authorities to trust instead of the system's.
    package let authorityFile: String?
    /// Wake-ups in a minute that the owner allows this installation.
    package let perMinute: Int

    package static let defaultPerMinute = 60_000

    /// The keys of the section.
    package static let words = [
        SettingKey(
            "via", "the https address of the owner's Reveille, without a path",
            "Wake through the relay of the app's owner, in place of keys of one's own."),
        SettingKey(
            "via-key", "the path of a file made by reveille keygen --kind relay",
            "The key of this installation, whose public half the owner allows."),
        SettingKey(
            "via-per-minute", "a whole number from 600 to 60000000",
            usual: "\(defaultPerMinute)", "Wake-ups in a minute that the owner allows."),
    ]

    /// Parses the section's keys and values, paths already absolute; nil without a key of a relay.
    /// - Throws: the first key that is missing, bad, or of a gateway that pushes directly.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        guard let via = section["via"] else {
            if Self.words.contains(where: { section[$0.name] != nil }) { throw .missing("via") }
            return nil
        }
        let known = Self.words.map(\.name) + ["ca"]
        for key in section.keys.sorted() where !known.contains(key) { throw .notWithVia(key) }
        guard let url = Self.url(via) else { throw .badValue("via") }
        guard let key = section["via-key"], !key.isEmpty else { throw .missing("via-key") }
        let perMinute = section["via-per-minute"].map { Int($0) ?? 0 } ?? Self.defaultPerMinute
        guard (600...60_000_000).contains(perMinute) else { throw .badValue("via-per-minute") }
        self.perMinute = perMinute
        self.url = url
        self.key = key
        authorityFile = section["ca"]
    }

    /// https, or http on this machine. No onion service: no gateway goes through Tor.
    private static func url(_ text: String) -> FetchURL? {
        guard let url = try? FetchURL(text), url.reach != .onion,
            url.bytes.count(where: { $0 == UInt8(ascii: "/") }) == 3,
            url.bytes.last == UInt8(ascii: "/")
        else { return nil }
        return url
    }

    /// Host, and port unless it is the scheme's own: both sides sign for it (RFC 9421 §2.2.3).
    package var authority: [UInt8] {
        let start = url.scheme == .https ? "https://".utf8.count : "http://".utf8.count
        return Array(url.bytes[start...].dropLast())
    }

    /// The relay's address as text; it is no secret.
    package var address: String { String(decoding: url.bytes.dropLast(), as: UTF8.self) }

    package func relayKey() throws(RelayKeyError) -> RelayKey { try RelayKey(file: key) }

    /// Reads the authorities to trust, so that a bad file is reported at the start.
    package func checkAuthorities() throws(PushEngineError) {
        guard url.scheme == .https else { return }
        var options = EndpointOptions()
        options.authorityFile = authorityFile
        try options.checkAuthorities()
    }
}

/// The key of an installation; a relay knows the installation by its public half.
package struct RelayKey: Sendable, Redacted {
    package let signingKey: SigningKey

    package init(_ signingKey: SigningKey) { self.signingKey = signingKey }

    /// Reads a private file: the 32-byte seed as 43 characters of base64url and a newline.
    package init(file path: String) throws(RelayKeyError) {
        var text = try mapError(RelayKeyError.file, Files.readSecret(path, limit: 64))
        defer { text.wipe() }
        if text.last == 0x0A { text.removeLast() }
        guard var seed = Base64URL.decode(text.span), seed.count == SigningKey.seedBytes
        else { throw .malformed }
        defer { seed.wipe() }
        signingKey = SigningKey(seed: seed.span)
    }

    /// The public half that the relay's owner allows: 43 characters of base64url.
    package var publicText: String { signingKey.verifyingKey.text }
}

/// The reason why the key file in the configuration cannot be used.
package enum RelayKeyError: Error, Equatable, Sendable {
    case file(SecretFileError)
    case malformed

    /// Two lines: the problem and a hint.
    package func message(section: String) -> String {
        let problem =
            switch self {
            case .file(let error):
                error.message(
                    source: "make one with reveille keygen --kind relay, owned by the user of this "
                        + "service")
            case .malformed:
                "the file holds no key for a relay\n"
                    + "hint: make one with reveille keygen --kind relay"
            }
        return "[\(section)] via-key: \(problem)"
    }
}
