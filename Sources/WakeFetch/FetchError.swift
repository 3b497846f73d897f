/// A failed fetch or fetcher. Numbers and cases only, never text from the wire.
package enum FetchError: Error, Sendable, Hashable {
    /// libcurl cannot be used; the message names the library and the Debian package.
    case libraryMissing(MissingLibrary)
    /// Not a URL that may be fetched, see ``FetchURL``, or http where the configuration forbids it.
    case invalidURL
    /// A `.onion` address without a proxy: it must never reach a name server (RFC 7686 §2).
    case onionWithoutProxy
    /// The value of a request field holds bytes that do not belong there.
    case invalidField
    /// The connection would have gone to another address than the request's pin, or to a proxy.
    case addressRefused
    /// Resolving, connecting, sending or receiving failed. The code is libcurl's.
    case network(code: Int32)
    /// Certificate, host name or handshake. The code is libcurl's; `certificate` is OpenSSL's
    /// number for a refused certificate (verify(1)), 0 where only the name was wrong.
    case tls(code: Int32, certificate: Int = 0)
    /// The connect, total, low-speed or idle time ran out.
    case timeout
    /// No response, though the request was sent, or part of it: the same times ran out, or libcurl
    /// would have sent it again.
    case unanswered
    /// More body than `limit`, sent or announced.
    case tooLarge
    /// The connection ended before the body did.
    case truncated
    /// `onHead` or `sink` returned `.stop`.
    case stopped
    case cancelled
    case closed
    /// No thread or no memory for the fetch.
    case outOfResources
    /// The response is not the HTTP that was asked for.
    case protocolViolation
    /// A transport that encapsulates requests is offered no key that it may do so for.
    case keyRefused
    /// A relay that passes on encapsulated requests answered by itself, with this status; 200: with
    /// something that no gateway encapsulated.
    case notEncapsulated(status: Int, retryAfter: Int?)

    /// The cause, for operators; numbers are libcurl's (libcurl-errors(3)).
    package var reason: String {
        switch self {
        case .libraryMissing(let library): "\(library)"
        case .invalidURL: "this is not an address that may be fetched"
        case .onionWithoutProxy: "an onion address needs a proxy"
        case .invalidField: "a field of the request is malformed"
        case .addressRefused: "the name leads to an address that may not be used"
        case .network(let code): "there is no connection (\(code))"
        case .tls(let code, _): "the TLS connection failed (\(code))"
        case .timeout: "the server took too long"
        case .unanswered: "the server did not answer"
        case .tooLarge: "the answer is longer than it may be"
        case .truncated: "the answer was cut short"
        case .stopped, .cancelled, .closed: "the fetch was stopped"
        case .outOfResources: "there is no thread or no memory for it"
        case .protocolViolation: "the server answered with something else"
        case .keyRefused: "there is no key that may be used"
        case .notEncapsulated(let status, _): "the relay answered \(status) by itself"
        }
    }

    /// Seconds to wait, where an answer named them.
    package var retryAfter: Int? {
        if case .notEncapsulated(_, let seconds) = self { seconds } else { nil }
    }
}

/// A shared library that could not be loaded at run time.
package struct MissingLibrary: Sendable, Hashable {
    package enum Reason: Sendable, Hashable {
        case notFound, functionMissing, tooOld, unfit, notInitialised
    }

    package let name: String
    /// The Debian and Ubuntu package with it.
    package let package: String
    package let reason: Reason
}

extension MissingLibrary: CustomStringConvertible {
    package var description: String {
        let problem =
            switch reason {
            case .notFound: "cannot load \(name)"
            case .functionMissing: "\(name) lacks a function that is needed"
            case .tooOld: "\(name) is too old, 7.68.0 is needed"
            case .unfit: "\(name) was built without something that is needed"
            case .notInitialised: "\(name) could not be initialised"
            }
        return "\(problem)\nhint: install the package \(package): apt-get install \(package)"
    }
}
