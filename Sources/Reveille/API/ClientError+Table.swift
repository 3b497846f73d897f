public import FoundationEssentials
import WakeSystem

/// All that is said of an error, once: JSON, logs, C interface, commands and texts read it here.
extension ClientError {
    /// The rows of the table. A name with hyphens is a stable word; one of the state or of the
    /// configuration begins with that word.
    enum Name: String, CaseIterable {
        case network, tls, httpStatus, truncated, tooLarge, badSignature, wrongFeed, rollback, fork
        case unwitnessed, corruptBatch, missingBatch, protocolViolation, locked, diskFull
        case stateVersion, stateDamaged, stateExposed, stateForeign, stateUnusable
        case configurationFeedUrl, configurationServiceUrl, configurationObliviousUrl
        case configurationFeedKey, configurationServiceMissing, configurationOtherFeed
        case configurationProxy, configurationDailyByteBudget, configurationCacheCapacity
        case configurationWitnesses, configurationLibraryMissing
        case gatewayKey, relay, notRegistered, notServed, stillRegistered, secrets, metered, source
        case cancelled

        var text: String { rawValue.hyphenated }
    }

    /// What may end an error, and the exit status of a command that fails by it (sysexits.h).
    fileprivate struct Cure {
        /// Trying again later can help without a change.
        let isTime: Bool
        let status: Int32

        static let time = Cure(isTime: true, status: 75)
        /// What came is not used; another answer may come.
        static let otherAnswer = Cure(isTime: true, status: 65)
        static let room = Cure(isTime: true, status: 74)
        static let otherProcess = Cure(isTime: false, status: 75)
        static let server = Cure(isTime: false, status: 65)
        static let files = Cure(isTime: false, status: 74)
        static let configuration = Cure(isTime: false, status: 78)
        static let otherCommand = Cure(isTime: false, status: 1)

        static func of(httpStatus status: Int) -> Cure {
            if ClientError.isPassing(status) { return .time }
            return [200, 302, 303, 307].contains(status) ? .otherAnswer : .server
        }
    }

    /// One row: the name, the number in reveille.h, what may end it, a phrase in lower case and
    /// without a full stop, what a person can do, and the values of the case.
    fileprivate struct Entry {
        let name: Name
        let number: Int32
        let cure: Cure
        let phrase: String
        let hint: String?
        let values: [String]

        init(
            _ name: Name, _ number: Int32, _ cure: Cure, _ phrase: String, hint: String? = nil,
            values: [String] = []
        ) {
            (self.name, self.number, self.cure) = (name, number, cure)
            (self.phrase, self.hint, self.values) = (phrase, hint, values)
        }
    }

    private var entry: Entry {
        let portal = "a captive portal's page looks like this: try again on another network"
        let lasting = "it is asked for again; if it lasts, ask the publisher"
        return switch self {
        case .network:
            Entry(
                .network, 20, .time, "the server cannot be reached",
                hint: "is this device online, and the address right? does the proxy run, if there "
                    + "is one?")
        case .tls(let fault):
            Entry(.tls, 21, .time, fault.phrase, hint: fault.hint, values: [fault.rawValue])
        case .httpStatus(let status, let pause):
            Entry(
                .httpStatus, 22, .of(httpStatus: status), "the server answered \(status)",
                hint: Self.hint(ofHTTP: status, portal: portal), values: Self.values(status, pause))
        case .truncated:
            Entry(.truncated, 23, .time, "the answer broke off; it is continued next time")
        case .tooLarge:
            Entry(
                .tooLarge, 24, .otherAnswer, "the answer is larger than any feed's", hint: portal)
        case .badSignature:
            Entry(
                .badSignature, 25, .otherAnswer, "what came is not signed with this feed's key",
                hint: portal + "; if it lasts, do the feed's URL and key belong together?")
        case .wrongFeed:
            Entry(
                .wrongFeed, 26, .server, "what came belongs to another feed",
                hint: "do the feed's URL and key belong together?")
        case .rollback:
            Entry(.rollback, 27, .time, "the feed is older than one seen before", hint: lasting)
        case .fork:
            Entry(
                .fork, 28, .server, "this feed shows different people different things",
                hint: "compare the fingerprint of the status with other people's, keep the "
                    + "evidence in the state directory, and then start over")
        case .unwitnessed(let fault):
            Entry(
                .unwitnessed, 31, fault == .otherHistory ? .server : .time, fault.phrase,
                hint: fault == .otherHistory
                    ? "keep the evidence in the state directory, and show it to others who follow "
                        + "this feed"
                    : "if it lasts, ask the publisher which witnesses cosign this feed",
                values: [fault.rawValue])
        case .corruptBatch:
            Entry(
                .corruptBatch, 29, .otherAnswer, "a batch is damaged, also when fetched afresh",
                hint: lasting)
        case .missingBatch:
            Entry(
                .missingBatch, 32, .server, "the server lacks a batch that the feed's head names",
                hint: lasting)
        case .state(.otherVersion):
            Entry(
                .stateVersion, 41, .files,
                "the state was written by another version of this program",
                hint: "install that version, or move client.db aside: all is then checked again")
        case .state(.damaged):
            Entry(
                .stateDamaged, 46, .room, "the state is damaged",
                hint: "sync, or run, puts it aside and checks everything again")
        case .state(.exposed):
            // Permissions are corrected by the user, as a configuration is.
            Entry(
                .stateExposed, 42, .configuration,
                "the state directory or a file in it is open to others",
                hint: "chmod 700 the directory, chmod 600 the files, no symbolic links")
        case .state(.foreign):
            Entry(
                .stateForeign, 45, .configuration,
                "the state directory or a file in it belongs to another user",
                hint: "use it as that user, or chown it")
        case .state(.unusable(let number)):
            Entry(
                .stateUnusable, 43, .files,
                "the state cannot be read or written"
                    + (number == 0 ? "" : ": \(SystemError(number).reason)"), values: ["\(number)"])
        case .locked:
            Entry(
                .locked, 40, .otherProcess, "another process works with this profile",
                hint: "`reveille-client doctor` says which, and whether it answers")
        case .diskFull:
            Entry(
                .diskFull, 44, .room, "there is no room for the state",
                hint: "make room on the disk")
        case .configuration(let fault): fault.entry
        case .protocolViolation:
            Entry(
                .protocolViolation, 30, .server, "the server does not follow the protocol",
                hint: "does a proxy on the way compress or change answers? the feed must not be")
        case .gatewayKey:
            Entry(
                .gatewayKey, 88, .time,
                "feed and gateway do not agree on a key for hidden registrations",
                hint: "the service's operator has the feed name the key of the gateway that the "
                    + "relay leads to: `reveille feed refresh`")
        case .relay(let status, let pause):
            Entry(
                .relay, 89, Self.isPassing(status) ? .time : .server,
                (200...299).contains(status)
                    ? "the relay answered something that does not come from the service"
                    : "the relay answered \(status), and not the service",
                hint: Self.hint(ofRelay: status), values: Self.values(status, pause))
        case .notRegistered: Entry(.notRegistered, 80, .otherCommand, "nothing is registered")
        case .notServed:
            Entry(
                .notServed, 81, .configuration, "the service sends nothing to such a push token",
                hint: "its operator has not configured this push service, or not this endpoint's "
                    + "host; until then the event stream and polls wake this client")
        case .stillRegistered:
            Entry(
                .stillRegistered, 82, .otherCommand, "the service may still hold a registration",
                hint: "unregister first; `reveille-client forget --force` leaves it to expire")
        case .secrets:
            Entry(
                .secrets, 100, .files, "the secrets cannot be read",
                hint: "`reveille-client doctor` says why")
        // Programs in C have no source of their own, and no fetch that is metered.
        case .metered(let time):
            Entry(
                .metered, 1, .time, "the day's bytes are used up until \(time.minuteText)",
                values: ["\(time.wholeSeconds)"])
        case .source(let fault):
            Entry(
                .source, 1, [.failed, .slow, .endless].contains(fault) ? .time : .server,
                "the app's own source failed", values: [fault.rawValue])
        case .cancelled: Entry(.cancelled, 8, .time, "interrupted")
        }
    }

    private static func values(_ status: Int, _ pause: Duration?) -> [String] {
        ["\(status)"] + (pause.map { ["\($0.wholeSeconds)"] } ?? [])
    }

    /// Another answer may come by itself.
    private static func isPassing(_ status: Int) -> Bool {
        status >= 500 || status == 429 || status == 408
    }

    private static func hint(ofHTTP status: Int, portal: String) -> String? {
        switch status {
        case 404:
            "is the feed below /feed/? its URL is the directory with the feed's head, and the "
                + "service's has no path"
        // RFC 6585 §6: 511 Network Authentication Required.
        case 200, 302, 303, 307, 511: portal
        case 300...399: "it has moved: configure the URL that it redirects to"
        case _ where Self.isPassing(status): nil
        default: "is the URL right? else its operator alone can change this answer"
        }
    }

    private static func hint(ofRelay status: Int) -> String {
        switch status {
        case 300...399: "it redirects: configure the URL that it leads to"
        case _ where isPassing(status):
            "the relay is busy, or does not reach the service's gateway"
        default: "is this the URL of a relay, and does it lead to this service?"
        }
    }
}

extension ClientError.TLSFault {
    fileprivate var phrase: String {
        switch self {
        case .handshake: "the server and this device have no TLS in common"
        case .expired: "the server's certificate has expired"
        case .notYetValid: "the server's certificate is not valid yet"
        case .otherName: "the server's certificate is for another name"
        case .unknownIssuer: "no authority that this device trusts issued the server's certificate"
        }
    }

    fileprivate var hint: String {
        switch self {
        case .handshake:
            "TLS 1.2 or 1.3 is needed: are address and port right? a server that has neither must "
                + "be updated by its operator"
        case .expired: "is this device's clock right? else the server's operator must renew it"
        case .notYetValid: "this device's clock is behind: timedatectl set-ntp true"
        case .otherName:
            "is the address right? a captive portal looks like this, too: try another network"
        case .unknownIssuer:
            "a captive portal or a proxy that opens TLS looks like this; without the package "
                + "ca-certificates every server does"
        }
    }
}

extension ClientError.ProofFault {
    fileprivate var phrase: String {
        switch self {
        case .missing: "the feed has no proof that all clients are shown the same"
        case .otherHead: "the proof that comes with the head is of another head"
        case .otherLog: "the proof is of another log than this feed's"
        case .noQuorum: "too few witnesses have cosigned the feed's newest head"
        case .rollback: "the feed's log is smaller than it was"
        case .otherHistory: "this feed's log does not contain what it contained before"
        }
    }
}

extension ClientError.ConfigurationFault {
    fileprivate var entry: ClientError.Entry {
        typealias Entry = ClientError.Entry
        let url = "must be an https URL (http on loopback and onion services)"
        return switch self {
        case .feedURL: Entry(.configurationFeedUrl, 60, .configuration, "the feed \(url)")
        case .serviceURL: Entry(.configurationServiceUrl, 61, .configuration, "the service \(url)")
        case .obliviousURL:
            Entry(
                .configurationObliviousUrl, 69, .configuration,
                "the relay must be an https URL, and needs a service behind it")
        case .feedKey:
            Entry(
                .configurationFeedKey, 62, .configuration,
                "the key must be an Ed25519 public key as 43 characters of base64url")
        case .serviceMissing:
            Entry(
                .configurationServiceMissing, 63, .configuration, "this needs a service",
                hint: "`reveille-client init --service URL` names one")
        case .otherFeed:
            Entry(
                .configurationOtherFeed, 64, .configuration, "this profile belongs to another feed")
        case .proxy:
            Entry(
                .configurationProxy, 65, .configuration,
                "the proxy cannot be used, or an onion service needs one")
        case .dailyByteBudget:
            Entry(
                .configurationDailyByteBudget, 66, .configuration,
                "a day's budget is 262144 bytes at least")
        case .cacheCapacity:
            Entry(
                .configurationCacheCapacity, 1, .configuration,
                "the cache's size is a number of megabytes")
        case .witnesses(let line):
            Entry(
                .configurationWitnesses, 68, .configuration,
                line == 0
                    ? "no quorum of the witnesses' policy can be verified: this needs Ed25519 keys"
                    : "line \(line) of the witnesses' policy is not understood",
                values: ["\(line)"])
        case .libraryMissing(let package):
            Entry(
                .configurationLibraryMissing, 67, .configuration,
                "a library of the package \(package) cannot be loaded",
                hint: "apt-get install \(package)", values: [package])
        }
    }
}

extension ClientError: LocalizedError {
    /// Trying again later can help without anybody changing anything.
    public var isTransient: Bool { entry.cure.isTime }

    /// A stable name for scripts, status files and logs.
    public var code: String {
        switch self {
        case .state: "state"
        case .configuration: "configuration"
        default: entry.name.text
        }
    }

    /// What failed: a sentence in English. No token, address or name from the wire is in it.
    public var errorDescription: String? { phrase.asSentence }

    /// What a person can do about it: a sentence in English; nil when there is only to wait.
    public var recoverySuggestion: String? { hint?.asSentence }

    /// `errorDescription` in lower case and without the full stop, for lines of a terminal.
    package var phrase: String { entry.phrase }

    /// `recoverySuggestion` in the same form.
    package var hint: String? { entry.hint }

    /// The exit status of a command that fails by it.
    package var exitStatus: Int32 { entry.cure.status }

    /// Of `enum reveille_error` in reveille.h.
    package var number: Int32 { entry.number }

    var name: Name { entry.name }

    /// The name and all values, which `init(text:)` reads.
    package var text: String { ([entry.name.text] + entry.values).joined(separator: " ") }

    /// - Returns: nil for other text than `text` gives.
    package init?(text: String) {
        let values = text.split(separator: " ").dropFirst().map(String.init)
        guard let error = Self.all(values).first(where: { $0.text == text }) else { return nil }
        self = error
    }

    /// One error of each row; a test asks for every `Name`.
    package static var examples: [ClientError] { all([]) }

    /// One error of each row with these values, or with zeros.
    private static func all(_ values: [String]) -> [ClientError] {
        let number = values.first.flatMap { Int64($0) } ?? 0
        let pause = values.dropFirst().first.flatMap { Int64($0) }.map { Duration.seconds($0) }
        let status = Int(clamping: number)
        let configuration: [ConfigurationFault] = [
            .feedURL, .serviceURL, .obliviousURL, .feedKey, .serviceMissing, .otherFeed, .proxy,
            .dailyByteBudget, .cacheCapacity, .witnesses(line: status),
            .libraryMissing(package: values.first ?? "libcurl4"),
        ]
        let others: [ClientError] = [
            .network, .httpStatus(status, retryAfter: pause), .truncated, .tooLarge,
            .badSignature, .wrongFeed, .rollback, .fork, .corruptBatch, .missingBatch,
            .state(.otherVersion), .state(.damaged),
            .state(.exposed), .state(.foreign), .state(.unusable(Int32(clamping: number))), .locked,
            .diskFull, .protocolViolation, .gatewayKey, .relay(status, retryAfter: pause),
            .notRegistered,
            .notServed, .stillRegistered, .secrets, .metered(until: Date(seconds: number)),
            .cancelled,
        ]
        return others + configuration.map(Self.configuration)
            + TLSFault.allCases.map(Self.tls) + ProofFault.allCases.map(Self.unwitnessed)
            + SourceFault.allCases.map(Self.source)
    }
}

extension String {
    /// With a capital letter and a full stop.
    var asSentence: String { prefix(1).uppercased() + dropFirst() + "." }

    /// The name of a case as a word of others: `wrongFeed` as "wrong-feed".
    var hyphenated: String {
        reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
    }
}
