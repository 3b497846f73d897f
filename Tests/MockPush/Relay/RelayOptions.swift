import WakeSystem

/// The options of the mock of a relay.
struct RelayOptions: ServiceOptions {
    /// A gateway of the relay that has stopped.
    struct Stop {
        let service: String
        let word: String
        let cause: String
    }

    /// Ways in which the lines of a response differ from the protocol.
    enum Mangling: String, CaseIterable {
        case reversed, split
        case withoutDone = "without-done"
    }

    var common = CommonOptions()

    var authority: String?
    var installations: Set<String> = []
    var lifetime: Int?

    /// Prefixes of push tokens that are gone.
    var gone: [String] = []
    var stops: [Stop] = []
    /// Lines before the connection breaks off; nil: never.
    var cutAfter: Int?
    /// Batches to which that happens.
    var cutBatches = Int.max
    /// Milliseconds between lines.
    var lineDelay = 0
    var manglings: Set<Mangling> = []

    static let about = """
        The relay of an app's owner: POST /v1/relay/wakes by HTTP/1.1, every request's digest
        (RFC 9530) and signature (RFC 9421, Ed25519) verified. An ANSWER is
        STATUS[:CODE[:RETRY-AFTER]], e.g. 429:relay_busy:5 or 403:installation_unknown, and takes
        the place of the lines. --answer-to looks at the installation's public key. Example:

          mock-push --service relay --authority wake.example.org --cut-after 10 --cut-batches 1

        """

    static var flags: [Flag<RelayOptions>] { checks + deliveries + faults }

    private static var checks: [Flag<RelayOptions>] {
        [
            .text("--authority", "NAME", "what is signed as @authority (Host)", \.authority),
            Flag(
                name: "--installation", takes: "KEY",
                does: "may send; repeatable; without any, everybody may"
            ) { options, value in
                options.installations.insert(value)
                return value.utf8.count == 43
            },
            Flag(name: "--lifetime", takes: "S", does: "lifetime, exactly") { options, value in
                options.lifetime = Int(value)
                return options.lifetime != nil
            },
        ]
    }

    private static var deliveries: [Flag<RelayOptions>] {
        [
            Flag(name: "--gone", takes: "PREFIX", does: "push tokens that begin so are gone") {
                $0.gone.append($1)
                return true
            },
            Flag(
                name: "--stop", takes: "SERVICE:WORD:CAUSE",
                does: "e.g. apns:misconfigured:bad-topic, fcm:misconfigured:service-off"
            ) { options, value in
                let parts = value.split(separator: ":", omittingEmptySubsequences: false)
                guard parts.count == 3, RelayBatchCheck.services.contains(String(parts[0])),
                    ["misconfigured", "unavailable"].contains(parts[1]),
                    parts[2].allSatisfy({ $0.isLetter || $0 == "-" })
                else { return false }
                options.stops.append(
                    Stop(
                        service: String(parts[0]), word: String(parts[1]), cause: String(parts[2])))
                return true
            },
        ]
    }

    private static var faults: [Flag<RelayOptions>] {
        [
            Flag(name: "--cut-after", takes: "N", does: "lines, then the answer breaks off") {
                $0.cutAfter = Int($1)
                return $0.cutAfter != nil
            },
            .number("--cut-batches", "N", "of the first N batches (all)", \.cutBatches),
            .number("--line-delay", "MS", "before every line", \.lineDelay),
            Flag(
                name: "--lines", takes: "WORD",
                does: Mangling.allCases.map(\.rawValue).joined(separator: ", ")
            ) { options, value in
                guard let mangling = Mangling(rawValue: value) else { return false }
                options.manglings.insert(mangling)
                return true
            },
        ]
    }
}
