import WakeHTTP
import WakeSystem

/// The web pages whose scripts may use the public routes (WHATWG Fetch §3.2, "CORS protocol"). It
/// concerns browsers alone: they tell the origin of the page, and withhold responses from pages
/// that are not named. Without it no page can register.
package enum WebOrigins: Sendable, Equatable {
    /// Any page.
    case all
    /// Origins as browsers write them (WHATWG HTML §7.1.1), such as `https://app.example.org`.
    case listed([String])

    /// - Parameter list: `*`, or origins with commas or spaces between them.
    /// - Returns: nil when one is not in the form that a browser sends: it would never be equal.
    package init?(list: String) {
        if list == "*" {
            self = .all
            return
        }
        let origins = list.split { $0 == " " || $0 == "," }.map(String.init)
        guard !origins.isEmpty, origins.allSatisfy(Self.isSerialized) else { return nil }
        self = .listed(origins)
    }

    /// As the file has them.
    package var text: String {
        switch self {
        case .all: "*"
        case .listed(let origins): origins.joined(separator: ", ")
        }
    }

    /// Scheme, host in lower case, and a port that is not the scheme's; no path. Web views of apps
    /// have schemes of their own, such as `capacitor://localhost`.
    private static func isSerialized(_ origin: String) -> Bool {
        guard let (_, scheme, host, port) = origin.wholeMatch(of: form)?.output else {
            return false
        }
        let usual = ["https": "443", "http": "80"][String(scheme)]
        return !host.hasPrefix(".") && !host.hasSuffix(".")
            && (port.map { UInt16($0) != nil && $0 != "0" && String($0) != usual } ?? true)
    }

    private static var form: Regex<(Substring, Substring, Substring, Substring?)> {
        #/([a-z][a-z0-9+.-]*)://([a-z0-9.-]+|\[[0-9a-f:]+\])(?::([1-9][0-9]*))?/#
    }
}

/// Makes responses readable for the scripts of ``WebOrigins``.
struct CrossOriginResponses: Sendable {
    /// For a page that may read; without `*`, one for each origin.
    private let allowed: [(origin: [UInt8], fields: ResponseFields)]
    /// For all others.
    private let others: ResponseFields

    init(_ origins: WebOrigins?) {
        switch origins {
        case nil: (allowed, others) = ([], ResponseFields())
        case .all: (allowed, others) = ([], Self.fields("*"))
        case .listed(let origins):
            // RFC 9110 §12.5.5: a cache must not give one page's response to another.
            let vary: [(StaticString, String)] = [("Vary", "Origin")]
            allowed = origins.map { (Array($0.utf8), Self.fields($0, vary)) }
            others = ResponseFields(vary)
        }
    }

    private static func fields(
        _ origin: String, _ more: [(StaticString, String)] = []
    ) -> ResponseFields {
        ResponseFields(
            [
                ("Access-Control-Allow-Origin", origin),
                (
                    "Access-Control-Expose-Headers",
                    "Content-Range, Date, Retry-After, Reveille-Program"
                ),
            ] + more)
    }

    /// What every response to the request carries.
    func fields(for request: Request) -> ResponseFields {
        guard !allowed.isEmpty, let origin = request.onlyValue(of: "origin") else { return others }
        return allowed.first { $0.origin.elementsEqual(origin) }?.fields ?? others
    }

    /// The response to a browser's question before a request that no form could send; nil when this
    /// is none, or no page may ask.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options, !allowed.isEmpty || !others.isEmpty,
            request.onlyValue(of: "origin") != nil,
            request.onlyValue(of: "access-control-request-method") != nil
        else { return nil }
        return Self.permission
    }

    /// The same for all paths: what a path does not do, it refuses itself.
    private static let permission = Response(
        204,
        fields: [
            ("Access-Control-Allow-Methods", "GET, PUT, POST, DELETE"),
            ("Access-Control-Allow-Headers", "Authorization, Content-Type, Padding, Range"),
            // Chromium keeps a permission for two hours at most.
            ("Access-Control-Max-Age", "7200"), ("Cache-Control", "no-store"),
        ])
}
