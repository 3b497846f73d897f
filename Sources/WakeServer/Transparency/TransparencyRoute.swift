import Synchronization
import WakeHTTP
package import WakeModel
import WakeSystem

/// The public privacy page, and the counters behind it.
final class TransparencyRoute: Sendable {
    private struct State {
        var counters = PublicCounters()
        var audit: AuditVerdict?
        var program = ProgramIdentity()
        /// `privacy.json` with the program's field; rendered again when that changes.
        var policy: Response?
        /// One for each language, rendered when it is asked for, and again after a change only.
        var pages = [Response?](repeating: nil, count: PageText.all.count)
        var privacyPage: PrivacyPage
        /// What the pages say of it.
        var pausedUntil: Int64?

        mutating func forgetPages() {
            for language in pages.indices { pages[language] = nil }
        }
    }

    private let state: Mutex<State>
    private let pausedUntil: @Sendable () -> Int64?

    /// - Parameter pausedUntil: when clients heed wake-ups again; nil when they do.
    init(_ privacyPage: PrivacyPage, pausedUntil: @escaping @Sendable () -> Int64? = { nil }) {
        state = Mutex(State(privacyPage: privacyPage))
        self.pausedUntil = pausedUntil
    }

    func change(to privacyPage: PrivacyPage) {
        state.withLock { state in
            state.privacyPage = privacyPage
            state.forgetPages()
        }
    }

    /// - Parameter language: the place of its texts in ``PageText/all``.
    func page(_ language: Int) -> Response {
        let pausedUntil = pausedUntil()
        return state.withLock { state in
            if state.pausedUntil != pausedUntil {
                state.pausedUntil = pausedUntil
                state.forgetPages()
            }
            let page =
                state.pages[language]
                ?? state.privacyPage.response(
                    state.counters, audit: state.audit, program: state.program,
                    pausedUntil: pausedUntil, in: PageText.all[language])
            state.pages[language] = page
            return page
        }
    }

    /// Found by the last audit.
    var violations: Int { state.withLock { $0.audit?.violations ?? 0 } }

    /// The policy as it is in the sources, to the byte, and beside it the program that runs.
    func policy() -> Response {
        state.withLock { state in
            let policy =
                state.policy
                ?? Response(
                    200,
                    fields: [
                        ("Content-Type", "application/json"),
                        ("Cache-Control", "public, max-age=300"),
                        ("X-Content-Type-Options", "nosniff"),
                        ("Reveille-Program", state.program.field),
                    ], body: .bytes(PrivacyPolicy.document))
            state.policy = policy
            return policy
        }
    }

    var program: ProgramIdentity { state.withLock { $0.program } }

    /// The hash is computed after the start, which does not wait for it.
    func setProgramHash(_ hash: String) {
        state.withLock { state in
            state.program = ProgramIdentity(release: state.program.release, hash: hash)
            state.policy = nil
            state.forgetPages()
        }
    }

    func counters() -> Response { .json(state.withLock { $0.counters }.encode()) }

    func update(_ counters: PublicCounters) {
        state.withLock { state in
            state.counters = counters
            state.forgetPages()
        }
    }

    func setAudit(_ verdict: AuditVerdict) {
        state.withLock { state in
            state.audit = verdict
            state.forgetPages()
        }
    }
}

extension PrivacyPage {
    /// The page of a service that is configured so.
    init(_ configuration: Configuration) {
        var absent: Set<String> = []
        if configuration.apns == nil { absent.insert("apns-token") }
        if configuration.relay == nil { absent.insert("installations") }
        if configuration.watchedFeed == nil { absent.insert("watched-feed") }
        self.init(
            retentionDays: 2 * configuration.rotationDays,
            operator: Operator(
                name: configuration.pageOperator, contact: configuration.pageContact),
            absentFiles: absent, isOblivious: configuration.obliviousKey != nil)
    }
}

/// The result of the operator's last audit, for the privacy page: without a date.
package struct AuditVerdict: Sendable, Equatable {
    package let violations: Int
    /// SHA-256 of the audited files, hexadecimal; empty when they changed during the audit.
    package let fileHash: String

    package init(violations: Int, fileHash: [UInt8]) {
        precondition(violations >= 0 && [0, 32].contains(fileHash.count), "a count, and a SHA-256")
        self.violations = violations
        self.fileHash = String(decoding: Hex.encode(fileHash.span), as: UTF8.self)
    }

    package init(_ body: [UInt8]) throws(JSONError) {
        guard case .object(let members) = try JSONValue(parsing: body) else { throw .malformed }
        guard members.count <= 2 else { throw .unknownMember }
        guard let count = members["violations"], let text = members["sha256"]
        else { throw .missingMember }
        guard let violations = count.integer, violations >= 0, case .string(let digits) = text,
            let hash = Hex.decode(digits.span), [0, 32].contains(hash.count)
        else { throw .malformed }
        self.init(violations: violations, fileHash: hash)
    }

    package func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("violations", number: violations)
        text.member("sha256", string: fileHash)
        text.endObject()
        return text.bytes
    }
}
