private import WakeModel
private import WakeSodium

extension PeoplePage {
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
        let text = Base64URL.encode(hash.span).map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        return "sha256-" + String(decoding: text, as: UTF8.self) + "="
    }()
}
