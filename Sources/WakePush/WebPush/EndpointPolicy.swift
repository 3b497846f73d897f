import WakeFetch
import WakeModel
import WakeSystem

/// The rules for endpoints: form, host and addresses. Applied at registration and when sending.
struct EndpointPolicy: Sendable {
    let rules: PushHostRules
    /// Networks that are allowed although they are not global.
    let networks: [IPNetwork]
    /// The translators between this machine and IPv4.
    var translation = AddressTranslation.wellKnown
    /// The destination of every connection instead; no name is resolved.
    let fixedAddresses: [IPAddress]?
    /// Whether push services are told whom to write to: Apple's refuse everything without.
    var hasSubject = true

    /// The host in lower case; nil when nothing may be sent to this endpoint.
    func host(of token: PushToken) -> [UInt8]? {
        guard let host = token.endpointHost, rules.admits(host), isServed(host),
            token.isSpelledWell
        else { return nil }
        return host
    }

    /// The reason not to register an endpoint; nil to register it.
    func refusal(of token: PushToken) -> EndpointRefusal? {
        guard let host = token.endpointHost, rules.admits(host) else { return .hostNotAllowed }
        guard isServed(host) else { return .subjectMissing }
        guard token.isSpelledWell else { return .spellingForeign }
        guard let keys = token.keys else { return nil }
        let isPoint = keys.point.withSpan { (try? P256Key(point: $0.array)) != nil }
        return isPoint ? nil : .keyMalformed
    }

    /// Apple's push service refuses everything without a subject.
    private func isServed(_ host: [UInt8]) -> Bool {
        hasSubject || PushHostKind(name: host) != .apple
    }

    /// Whatever is a ``PushEndpoint`` is one.
    static func url(_ endpoint: Span<UInt8>) -> FetchURL? { try? FetchURL(endpoint.array) }

    /// True when all addresses of a host may be connected to.
    func admits(_ addresses: [IPAddress]) -> Bool {
        !addresses.isEmpty && addresses.allSatisfy { translation.admits($0, or: networks) }
    }
}

extension PushToken {
    /// The host of a Web Push endpoint, in lower case.
    var endpointHost: [UInt8]? {
        guard service == .webPush else { return nil }
        return withAddress { bytes in
            PushEndpoint(bytes).map { bytes.extracting($0.host).array.map(\.lowercased) }
        }
    }

    fileprivate var isSpelledWell: Bool {
        withAddress { bytes in
            PushEndpoint(bytes).map { EndpointSpelling(bytes, $0) != nil } ?? false
        }
    }
}

/// The hosts that wake-ups may be sent to, compared with the parsed host of an endpoint.
package struct PushHostRules: Sendable, Equatable {
    /// Any host with a proper name; its addresses are still checked when sending.
    package private(set) var isAny = false
    /// True when the known push services are among the hosts.
    package private(set) var isKnown = false
    /// Hosts named beside them.
    package private(set) var named = 0
    private var names: Set<[UInt8]> = []
    /// `.example.org` for every name below example.org.
    private var suffixes: Set<ArraySlice<UInt8>> = []

    package static let known = PushHostRules(list: "known") ?? PushHostRules([])

    init(_ patterns: [String]) { add(patterns) }

    /// `known`, `any`, host names, or `*.` and one for all names below; commas or spaces between.
    /// Nil when one of them is no host name, or there are none.
    package init?(list: String) {
        let words = list.split { $0 == "," || $0 == " " || $0 == "\t" }
        guard !words.isEmpty else { return nil }
        for word in words {
            switch word {
            case "any": isAny = true
            case "known":
                isKnown = true
                add(PushHostKind.browsers + PushHostKind.unifiedPush)
            default:
                let pattern = word.utf8.map(\.lowercased)
                guard Self.isPattern(pattern) else { return nil }
                add(pattern)
                named += 1
            }
        }
    }

    /// - Parameter host: of a ``PushEndpoint``, in lower case.
    package func admits(_ host: [UInt8]) -> Bool {
        if isAny || names.contains(host) { return true }
        guard !suffixes.isEmpty else { return false }
        return host.indices.dropFirst().contains { index in
            host[index] == UInt8(ascii: ".") && suffixes.contains(host[index...])
        }
    }

    private mutating func add(_ patterns: [String]) {
        for pattern in patterns { add(Array(pattern.utf8)) }
    }

    private mutating func add(_ pattern: [UInt8]) {
        if pattern.first == UInt8(ascii: "*") {
            suffixes.insert(pattern.dropFirst())
        } else {
            names.insert(pattern)
        }
    }

    /// A name that a ``PushEndpoint`` may have: others would never be asked for.
    private static func isPattern(_ pattern: [UInt8]) -> Bool {
        let isWild = pattern.starts(with: "*.".utf8)
        let name = isWild ? Array(pattern.dropFirst(2)) : pattern
        let endpoint = Array("https://".utf8) + name + [UInt8(ascii: "/")]
        // Without a port: names only.
        guard !name.contains(UInt8(ascii: ":")), !name.contains(UInt8(ascii: "/")) else {
            return false
        }
        return PushEndpoint(endpoint.span) != nil
    }
}
