package import WakeFetch
private import WakeModel

/// What a section `[apns]` or `[fcm]` says when its push tokens are woken by the app's owner.
package struct RelayConfiguration: Sendable, Equatable {
    /// Of the relay, without a path.
    package let url: FetchURL
    /// The file with the key.
    package let key: String
    /// Authorities to trust instead of the system's.
    package let authorityFile: String?
    /// Wake-ups in a minute that the owner lets this installation have.
    package let perMinute: Int

    /// What an installation has unless the owner says otherwise.
    package static let usualPerMinute = 60_000

    /// The keys of the section that are about this, with what they take.
    package static let words: [(key: String, takes: String)] = [
        ("via", "the https address of the owner's Reveille, without a path"),
        ("via-key", "the path of a file made by reveille keygen --kind relay"),
        ("via-per-minute", "a whole number from 600 to 60000000"),
    ]

    /// From the section's keys and values, paths made absolute already; nil without any key of a
    /// relay.
    /// - Throws: the first key that is missing, has no proper value, or is of a gateway that pushes
    ///   directly.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        guard let via = section["via"] else {
            if Self.words.contains(where: { section[$0.key] != nil }) { throw .missing("via") }
            return nil
        }
        let known = Self.words.map(\.key) + ["ca"]
        for key in section.keys.sorted() where !known.contains(key) { throw .notWithVia(key) }
        guard let url = Self.url(via) else { throw .badValue("via") }
        guard let key = section["via-key"], !key.isEmpty else { throw .missing("via-key") }
        let perMinute = section["via-per-minute"].map { Int($0) ?? 0 } ?? Self.usualPerMinute
        guard (600...60_000_000).contains(perMinute) else { throw .badValue("via-per-minute") }
        self.perMinute = perMinute
        self.url = url
        self.key = key
        authorityFile = section["ca"]
    }

    /// https, or http on this machine: a proxy that adds TLS, or tests. No onion service: no
    /// gateway goes through Tor.
    private static func url(_ text: String) -> FetchURL? {
        do throws(FetchError) {
            let url = try FetchURL(text)
            let slashes = url.bytes.count { $0 == UInt8(ascii: "/") }
            guard url.reach != .onion, slashes == 3, url.bytes.last == UInt8(ascii: "/") else {
                return nil
            }
            return url
        } catch {
            return nil
        }
    }

    /// Host, and port unless it is the scheme's own: what both sides sign for (RFC 9421 §2.2.3).
    package var authority: [UInt8] {
        let start = url.scheme == .https ? "https://".utf8.count : "http://".utf8.count
        return Array(url.bytes[start...].dropLast())
    }

    /// The address as text: the relay is no secret.
    package var place: String { String(decoding: url.bytes.dropLast(), as: UTF8.self) }

    /// Reads the key.
    package func relayKey() throws(RelayKeyError) -> RelayKey {
        try RelayKey(file: key)
    }

    /// Reads the authorities to trust; a file that holds none is said now and not by a round.
    package func checkAuthorities() throws(PushEngineError) {
        guard url.scheme == .https else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }
}
