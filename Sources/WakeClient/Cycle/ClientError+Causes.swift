import WakeFeed
import WakeFetch

// Where failures of the parts become codes of the client: the one place.

extension ClientError {
    init(_ error: FetchError) {
        switch error {
        case .libraryMissing(let library):
            self = .configuration(.libraryMissing(package: library.package))
        case .invalidURL, .invalidField: self = .configuration(.feedURL)
        case .onionWithoutProxy: self = .configuration(.proxy)
        case .network, .addressRefused, .timeout, .closed, .outOfResources: self = .network
        case .tls: self = .tls
        case .tooLarge: self = .tooLarge
        case .truncated: self = .truncated
        case .cancelled: self = .cancelled
        case .stopped, .protocolViolation: self = .protocolViolation
        }
    }

    /// Whether this is how a captive portal answers whoever asks for a head.
    var isOfPortal: Bool {
        switch self {
        case .tooLarge: true
        // RFC 6585 §6: 511 Network Authentication Required.
        case .httpStatus(let status, _): (300..<400).contains(status) || status == 511
        default: false
        }
    }

    /// What the service answered to a registration, when that was no success.
    init(registrationStatus status: Int, retryAfter: Int?) {
        // Policy/PROTOCOL.md: `service_off`, `push_host_not_allowed`, and nothing else.
        self = status == 422 ? .notServed : .httpStatus(status, retryAfter: retryAfter)
    }

    init(_ error: FeedError) {
        switch error {
        case .truncated: self = .truncated
        case .tooLarge: self = .tooLarge
        case .badSignature: self = .badSignature
        case .wrongFeed: self = .wrongFeed
        case .rollback: self = .rollback
        case .fork: self = .fork
        case .malformedHead: self = .protocolViolation
        case .corruptBatch: self = .corruptBatch
        }
    }
}
