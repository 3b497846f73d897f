import WakeHTTP
import WakeModel
import WakeSodium
import WakeSystem

/// The privacy page, `GET /`, made from the policy in force and the public counters.
///
/// No script, nothing from elsewhere: the content security policy allows one style sheet, by its
/// hash, and the empty icon that keeps browsers from asking for one.
package struct PrivacyPage: Sendable {
    private let policy: PolicyDocument
    private let hash: String
    private let retentionDays: Int?

    /// - Parameter retentionDays: where the operator has chosen another than the policy's.
    init(
        _ policy: PolicyDocument = .inForce, hash: String = PrivacyPolicy.hash,
        retentionDays: Int? = nil
    ) {
        self.policy = policy
        self.hash = hash
        self.retentionDays = retentionDays ?? policy.retentionDays
    }

    package static func text() -> String { PrivacyPage().html(PublicCounters(), audit: nil) }

    func response(_ counters: PublicCounters, audit: AuditVerdict?) -> Response {
        Response(200, fields: Self.fields, body: .bytes(Array(html(counters, audit: audit).utf8)))
    }

    private static let fields: [(StaticString, String)] = [
        ("Content-Type", "text/html; charset=utf-8"),
        (
            "Content-Security-Policy",
            "default-src 'none'; img-src data:; style-src '\(PrivacyPage.styleHash)'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
    ]

    func html(_ counters: PublicCounters, audit: AuditVerdict?) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>What this service knows about you</title>
        <link rel="icon" href="data:,">
        <style>\(Self.style)</style>
        </head>
        <body>
        <main>
        \(stored)
        \(Self.rights)
        <h2>What else lies beside it</h2>
        <p>Nothing of this is about a person:</p>
        \(state)
        <h2>How many use it</h2>
        <p>Registrations are counted once between two rotations, and a number drawn by chance is \
        added, ten more or less and sometimes several times that. So nobody can read here whether \
        one person came or left.</p>
        \(Self.table(counters))
        <h2>Check us</h2>
        \(Self.checking(hash, audit))
        \(Self.limits)
        </main>
        </body>
        </html>

        """
    }

    private var stored: String {
        """
        <h1>What this service knows about you</h1>
        <p>Your app wants to learn that there is something new without anybody learning who you \
        are. So it left two things here, wakes up together with everybody else, fetches the same \
        file as everybody else, and looks for itself whether anything concerns you. This service \
        never finds out.</p>
        <h2>Everything that is stored about you</h2>
        <p>One row with two columns:</p>
        \(columns)
        <p>No name, no account, no date, no network address, no language, no country. Rows \
        cannot be put in the order in which they came. An app that listens instead of being \
        pushed stores nothing here at all.</p>
        <h2>For how long</h2>
        <p>\(retention)</p>
        """
    }

    private static let rights = """
        <h2>See it, change it, delete it</h2>
        <p>Only your app can: it alone has the secret that leads to your row. Nobody here could \
        find your row by your name, and nobody needs to be asked.</p>
        <dl>
        <dt>See</dt><dd><code>GET /v1/registration</code>, or \
        <code>reveille-client stored</code></dd>
        <dt>Change</dt><dd><code>PUT /v1/registration</code></dd>
        <dt>Delete</dt><dd><code>DELETE /v1/registration</code>, or \
        <code>reveille-client unregister</code>. When the answer arrives, the bytes are in no file \
        of the store.</dd>
        </dl>
        """

    private static let limits = """
        <h2>What nobody can show you</h2>
        <p>The running program holds the keys in its memory; whoever controls this machine could \
        read them there. Flash memory may keep old blocks below the file system; what it keeps \
        is encrypted. Your push service (Apple, Google or another) knows that the app is \
        installed and that it was woken, at the same time as everybody else.</p>
        """

    private var columns: String {
        let items = policy.columns.map { column in
            let size = column.length.map { "\($0) bytes" } ?? ""
            return """
                <li><strong><code>\(Self.escaped(column.name))</code></strong> \
                <span class="size">\(size)</span><br>\(Self.escaped(column.description))</li>
                """
        }
        return "<ol class=\"row\">\n" + items.joined(separator: "\n") + "\n</ol>"
    }

    private var state: String {
        let items = policy.state.map {
            "<dt><code>\(Self.escaped($0.name))</code></dt><dd>\(Self.escaped($0.description))</dd>"
        }
        return "<dl>\n" + items.joined(separator: "\n") + "\n</dl>"
    }

    private var retention: String {
        guard let days = retentionDays else { return "Until your app deletes it." }
        return """
            Until your app deletes it, and at most \(days) days of running time after your app \
            last renewed it: then the row is erased, and the keys it was encrypted with are \
            destroyed. An app that was removed does not renew.
            """
    }

    private static func table(_ counters: PublicCounters) -> String {
        let rows = PublicCounter.allCases.map { counter in
            let count = counters[counter].map(String.init) ?? "not counted yet"
            return "<tr><th scope=\"row\">\(counter.label)</th><td>\(count)</td></tr>"
        }
        return """
            <table>
            <thead><tr><th scope="col">What</th><th scope="col">How many</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table>
            """
    }

    private static func checking(_ hash: String, _ audit: AuditVerdict?) -> String {
        let verdict =
            audit.map { audit in
                """
                The last audit that the operator made found \
                <strong>\(audit.violations == 0 ? "nothing" : "violations: \(audit.violations)")\
                </strong>, in a file whose SHA-256 is <code class="hash">\(audit.fileHash)</code>.
                """
            } ?? "The operator has made no audit since this service was started."
        return """
            <ul>
            <li>The policy this program was built with, for machines: \
            <a href="/v1/policy">/v1/policy</a>, BLAKE2b-256 <code class="hash">\(hash)</code></li>
            <li>The program is open: <code>reveille audit</code> reads a copy of the database \
            without keys and finds any column, index or leftover byte that the policy does not \
            know.</li>
            <li>\(verdict)</li>
            </ul>
            """
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
