/// What the mock of a relay is told by flags.
struct RelayOptions: ServiceOptions {
    /// What becomes of a wake-up, as the words of a line.
    struct Delivery {
        let word: String
        let cause: String?

        /// `accepted`, `gone` or `retry:CAUSE`.
        init?(_ parts: ArraySlice<Substring>) {
            let parts = Array(parts)
            guard let word = parts.first, (1...2).contains(parts.count),
                ["accepted", "gone", "retry"].contains(word),
                (word == "retry") == (parts.count == 2),
                parts.dropFirst().allSatisfy(Self.isWord)
            else { return nil }
            self.word = String(word)
            cause = parts.count == 2 ? String(parts[1]) : nil
        }

        init?(_ text: String) {
            self.init(text.split(separator: ":", omittingEmptySubsequences: false)[...])
        }

        static func isWord(_ text: Substring) -> Bool {
            !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "-") }
        }
    }

    /// A gateway of the relay that has stopped.
    struct Stop {
        let service: String
        let word: String
        let cause: String
    }

    /// Ways in which the lines of an answer are not what was agreed on.
    enum Mangling: String, CaseIterable {
        case duplicate, foreign, unknown, reversed, split, long
        case withoutDone = "without-done"
        case wrongDone = "wrong-done"
    }

    var common = CommonOptions()

    // Who may send what.
    var authority: String?
    var installations: Set<String> = []
    var lifetime: Int?

    var deliveries: [(every: Int, delivery: Delivery)] = []
    var tokenDeliveries: [(prefix: String, delivery: Delivery)] = []
    var deliverAll: Delivery?
    var stops: [Stop] = []
    /// Lines before the gateway stops.
    var stopAfter = 0
    /// Lines before the connection breaks off; nil: never.
    var cutAfter: Int?
    /// Batches to which that happens.
    var cutBatches = Int.max
    /// Milliseconds between lines.
    var lineDelay = 0
    var manglings: Set<Mangling> = []
    var isDead = false
    var isHanging = false

    static let about = """
        The relay of an app's owner: POST /v1/relay/wakes by HTTP/1.1, every request's digest
        (RFC 9530) and signature (RFC 9421, Ed25519) verified. An ANSWER is
        STATUS[:CODE[:RETRY-AFTER]], e.g. 429:relay_busy:5 or 403:installation_unknown, and takes
        the place of the lines; a DELIVERY is accepted, gone or retry:CAUSE. What --answer-to looks
        at is the installation's public key. Example:

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
            Flag(name: "--deliver", takes: "N:DELIVERY", does: "at every Nth wake-up") {
                let parts = $1.split(separator: ":", omittingEmptySubsequences: false)
                guard let every = Int(parts[0]), every > 0,
                    let delivery = Delivery(parts.dropFirst())
                else { return false }
                $0.deliveries.append((every, delivery))
                return true
            },
            Flag(
                name: "--deliver-to", takes: "BEGINNING=DELIVERY",
                does: "to push tokens that begin so"
            ) { options, value in
                guard let split = value.lastIndex(of: "="),
                    let delivery = Delivery(String(value[value.index(after: split)...]))
                else { return false }
                options.tokenDeliveries.append((String(value[..<split]), delivery))
                return true
            },
            Flag(name: "--deliver-all", takes: "DELIVERY", does: "to all push tokens") {
                $0.deliverAll = Delivery($1)
                return $0.deliverAll != nil
            },
            Flag(
                name: "--stop", takes: "SERVICE:WORD:CAUSE",
                does: "e.g. apns:misconfigured:bad-topic, fcm:misconfigured:service-off"
            ) { options, value in
                let parts = value.split(separator: ":", omittingEmptySubsequences: false)
                guard parts.count == 3, RelayBatchCheck.services.contains(String(parts[0])),
                    ["misconfigured", "unavailable"].contains(parts[1]),
                    Delivery.isWord(parts[2])
                else { return false }
                options.stops.append(
                    Stop(
                        service: String(parts[0]), word: String(parts[1]), cause: String(parts[2])))
                return true
            },
            .number("--stop-after", "N", "of its lines (0)", \.stopAfter),
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
            .yes("--dead", "the connection ends at every request", \.isDead),
            .yes("--hang", "no answer ever comes", \.isHanging),
        ]
    }
}
