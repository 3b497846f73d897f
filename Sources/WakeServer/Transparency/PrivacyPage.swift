import WakeHTTP
import WakeModel
import WakeSystem

/// The privacy page, `GET /`, made from the policy in force and the public counters, in the
/// language that its reader prefers.
///
/// No script, nothing from elsewhere: the content security policy allows one style sheet, by its
/// hash, and the empty icon that keeps browsers from asking for one.
package struct PrivacyPage: Sendable {
    /// Who runs the service, as the operator says it.
    package struct Operator: Sendable, Equatable {
        /// Empty: not said.
        package let name: String
        /// An address of mail, an `https` address, or any text; empty: not said.
        package let contact: String

        package init(name: String, contact: String) {
            self.name = name
            self.contact = contact
        }
    }

    private let policy: PolicyDocument
    private let hash: String
    private let retentionDays: Int?
    private let `operator`: Operator?
    private let absentFiles: Set<String>
    /// Whether apps can register through relays that hide their addresses.
    private let isOblivious: Bool

    /// - Parameters:
    ///   - retentionDays: where the operator has chosen another than the policy's.
    ///   - absentFiles: files of the policy that this service does not have, as what they are for
    ///     is off.
    ///   - isOblivious: whether there is a gateway of Oblivious HTTP.
    init(
        _ policy: PolicyDocument = .inForce, hash: String = PrivacyPolicy.hash,
        retentionDays: Int? = nil, operator: Operator? = nil, absentFiles: Set<String> = [],
        isOblivious: Bool = false
    ) {
        self.policy = policy
        self.hash = hash
        self.retentionDays = retentionDays ?? policy.retentionDays
        self.operator = `operator`
        self.absentFiles = absentFiles
        self.isOblivious = isOblivious
    }

    /// The page of a service without operator and counts, in English.
    package static func text() -> String {
        PrivacyPage().html(PublicCounters(), audit: nil, in: PageText.all[0])
    }

    func response(
        _ counters: PublicCounters, audit: AuditVerdict?, program: ProgramIdentity,
        pausedUntil: Int64?, in text: PageText
    ) -> Response {
        let html = html(
            counters, audit: audit, program: program, pausedUntil: pausedUntil, in: text)
        return Response(200, fields: Self.fields, body: .bytes(Array(html.utf8)))
    }

    private static let fields: [(StaticString, String)] = [
        ("Content-Type", "text/html; charset=utf-8"),
        (
            "Content-Security-Policy",
            "default-src 'none'; img-src data:; style-src '\(PrivacyPage.styleHash)'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"), ("Vary", "Accept-Language"),
    ]

    func html(
        _ counters: PublicCounters, audit: AuditVerdict?,
        program: ProgramIdentity = ProgramIdentity(), pausedUntil: Int64? = nil, in text: PageText
    ) -> String {
        """
        <!DOCTYPE html>
        <html lang="\(text.language)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(text[.title])</title>
        <link rel="icon" href="data:,">
        <style>\(Self.style)</style>
        </head>
        <body>
        <main>
        <h1>\(text[.title])</h1>
        <p>\(text[.intro])</p>\(Self.pause(pausedUntil, text))
        <h2>\(text[.storedTitle])</h2>
        <p>\(text[.storedLead])</p>
        \(columns(text))
        <p>\(text[.storedNote])\(isOblivious ? " " + text[.obliviousNote] : "")</p>
        <h2>\(text[.timeTitle])</h2>
        <p>\(retention(text))</p>
        \(Self.rights(text))
        <h2>\(text[.countsTitle])</h2>
        <p>\(text[.countsLead])</p>
        \(Self.table(counters, text))
        <h2>\(text[.filesTitle])</h2>
        <p>\(text[.filesLead])</p>
        \(files(text))
        <h2>\(text[.checkTitle])</h2>
        \(checks(audit, program, text))
        <h2>\(text[.limitsTitle])</h2>
        <p>\(text[.limitsText])</p>
        \(owner(text))</main>
        </body>
        </html>

        """
    }

    private static func pause(_ until: Int64?, _ text: PageText) -> String {
        guard let until else { return "" }
        let time = DateField.minute(until)
        return "\n<p><strong>\(text(.paused, [("time", time)]))</strong></p>"
    }

    private func columns(_ text: PageText) -> String {
        let items = policy.columns.map { column in
            let size = column.length.map { text(.bytes, [("count", "\($0)")]) } ?? ""
            let description = text.column(column.name) ?? Self.escaped(column.description)
            return """
                <li><strong><code>\(Self.escaped(column.name))</code></strong> \
                <span class="size">\(size)</span><br>\(description)</li>
                """
        }
        // WebKit takes a list without markers for none, unless its role is given.
        return "<ol class=\"row\" role=\"list\">\n" + items.joined(separator: "\n") + "\n</ol>"
    }

    private func retention(_ text: PageText) -> String {
        retentionDays.map { text(.timeDays, [("days", "\($0)")]) } ?? text[.timeEndless]
    }

    private static func rights(_ text: PageText) -> String {
        let programs = text(
            .programs,
            [
                ("get", "<code>GET</code>"), ("put", "<code>PUT</code>"),
                ("delete", "<code>DELETE</code>"), ("path", "<code>/v1/registration</code>"),
                ("stored", "<code>reveille-client stored</code>"),
                ("unregister", "<code>reveille-client unregister</code>"),
            ])
        return """
            <h2>\(text[.rightsTitle])</h2>
            <p>\(text[.rightsLead])</p>
            <dl>
            <dt>\(text[.see])</dt><dd>\(text[.seeText])</dd>
            <dt>\(text[.change])</dt><dd>\(text[.changeText])</dd>
            <dt>\(text[.delete])</dt><dd>\(text[.deleteText])</dd>
            </dl>
            <p>\(programs)</p>
            """
    }

    private static func table(_ counters: PublicCounters, _ text: PageText) -> String {
        let rows = PublicCounter.allCases.map { counter in
            let count = counters[counter].map(String.init) ?? text[.countsNone]
            return "<tr><th scope=\"row\">\(text[counter.part])</th><td>\(count)</td></tr>"
        }
        return """
            <table>
            <caption>\(text[.countsCaption])</caption>
            <thead><tr><th scope="col">\(text[.countsWhat])</th>\
            <th scope="col">\(text[.countsNumber])</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table>
            """
    }

    private func files(_ text: PageText) -> String {
        let items = policy.state.filter { !absentFiles.contains($0.name) }.map { file in
            let description = text.file(file.name) ?? Self.escaped(file.description)
            return "<dt><code>\(Self.escaped(file.name))</code></dt><dd>\(description)</dd>"
        }
        return "<dl>\n" + items.joined(separator: "\n") + "\n</dl>"
    }

    private func hash(_ audit: AuditVerdict, _ text: PageText) -> String {
        audit.fileHash.isEmpty ? text[.auditUnhashed] : Self.code(audit.fileHash)
    }

    private func checks(
        _ audit: AuditVerdict?, _ program: ProgramIdentity, _ text: PageText
    ) -> String {
        let verdict =
            audit.map { audit in
                text(
                    audit.violations == 0 ? .auditClean : .auditFound,
                    [("count", "\(audit.violations)"), ("hash", hash(audit, text))])
            } ?? text[.auditNone]
        let link = "<a href=\"/v1/policy\">/v1/policy</a>"
        return """
            <ul>
            <li>\(text(.checkPolicy, [("link", link), ("hash", Self.code(hash))]))</li>
            \(Self.claim(program, text))\
            <li>\(text(.checkProgram, [("audit", "<code>reveille audit</code>")]))</li>
            <li>\(text[.licence])</li>
            <li>\(verdict)</li>
            </ul>
            """
    }

    /// What the program says of itself; nothing until its hash is known.
    private static func claim(_ program: ProgramIdentity, _ text: PageText) -> String {
        guard let hash = program.hash else { return "" }
        let version = ("version", "<code>\(Release.version)</code>")
        let claim = text(.programRuns, [version, ("hash", code(hash))])
        let commit = program.release.commit.map { ("commit", code($0)) }
        let source =
            if let commit {
                text(program.canBeRebuilt ? .programCommit : .programChanged, [commit])
            } else {
                text[.programUnknown]
            }
        return "<li>\(claim) \(source) \(text[.programClaim])</li>\n"
    }

    private static func code(_ hash: String) -> String { "<code class=\"hash\">\(hash)</code>" }

    private func owner(_ text: PageText) -> String {
        guard let owner = self.operator else { return "" }
        let contact = Self.escaped(owner.contact)
        let address =
            owner.contact.hasPrefix("https://")
            ? contact : owner.contact.contains("@") ? "mailto:" + contact : nil
        let link = address.map { "<a href=\"\($0)\">\(contact)</a>" } ?? contact
        let lines = [
            owner.name.isEmpty ? nil : Self.escaped(owner.name),
            contact.isEmpty ? nil : text(.operatorContact, [("contact", link)]),
        ].compactMap { $0 }
        guard !lines.isEmpty else { return "" }
        return "<h2>\(text[.operatorTitle])</h2>\n"
            + lines.map { "<p>\($0)</p>\n" }.joined()
    }

    /// Escapes text for HTML; the policy has none of these characters today.
    static func escaped(_ text: String) -> String {
        let entities: [Character: String] = [
            "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;",
        ]
        return text.reduce(into: "") { $0 += entities[$1] ?? String($1) }
    }
}

extension PrivacyPage {
    /// Every pair of colours has a contrast of at least 7 to 1 (WCAG 2.2, 1.4.6), in both schemes.
    static let style = """
        :root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f2f4f7;--line:#5b6470;\
        --link:#0b4a8f}
        @media(prefers-color-scheme:dark){:root{--ink:#eceff3;--paper:#14171b;--soft:#20252b;\
        --line:#a9b3bf;--link:#a9d1ff}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);\
        font:1.0625rem/1.6 system-ui,sans-serif}
        main{max-width:44rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
        h1{font-size:1.75rem;line-height:1.25}
        h2{font-size:1.25rem;margin-top:2.25rem}
        a{color:var(--link)}
        a:focus-visible{outline:3px solid var(--link);outline-offset:2px}
        code{font-family:ui-monospace,monospace;font-size:.9375em;overflow-wrap:anywhere}
        .row{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap}
        .row li{flex:1 1 8rem;border:2px solid var(--line);background:var(--soft);padding:.75rem;\
        margin:0 -2px -2px 0}
        .row li:last-child{flex:3 1 16rem}
        dt{font-weight:600;margin-top:.75rem}
        dd{margin:0 0 0 1rem}
        table{border-collapse:collapse;width:100%}
        caption{text-align:left;font-weight:600}
        th,td{text-align:left;font-weight:400;padding:.375rem .5rem .375rem 0;\
        border-bottom:1px solid var(--line)}
        thead th{font-weight:600}
        thead th:last-child,td{text-align:right;white-space:nowrap}
        td{font-variant-numeric:tabular-nums}
        """

    /// As the content security policy names it (CSP Level 3 §2.3.1, hash-source).
    static let styleHash: String = {
        let hash = SHA256.hash(Array(style.utf8).span)
        // Plain Base64 has two other characters and one of padding (RFC 4648 §4).
        let text = String(decoding: Base64URL.encode(hash.span), as: UTF8.self)
        let others: [Character: Character] = ["-": "+", "_": "/"]
        return "sha256-" + String(text.map { others[$0] ?? $0 }) + "="
    }()
}
