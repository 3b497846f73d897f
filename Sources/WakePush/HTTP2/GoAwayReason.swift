/// Why a peer ended a connection (RFC 9113 §6.8), as one of these names: nothing else of its debug
/// data is kept. The `reason` that Apple sends there goes before the error code.
package enum GoAwayReason: String, Sendable, Hashable, CaseIterable {
    // RFC 9113 §7, in the order of the codes.
    case noError = "NO_ERROR"
    case protocolError = "PROTOCOL_ERROR"
    case internalError = "INTERNAL_ERROR"
    case flowControlError = "FLOW_CONTROL_ERROR"
    case settingsTimeout = "SETTINGS_TIMEOUT"
    case streamClosed = "STREAM_CLOSED"
    case frameSizeError = "FRAME_SIZE_ERROR"
    case refusedStream = "REFUSED_STREAM"
    case cancel = "CANCEL"
    case compressionError = "COMPRESSION_ERROR"
    case connectError = "CONNECT_ERROR"
    case enhanceYourCalm = "ENHANCE_YOUR_CALM"
    case inadequateSecurity = "INADEQUATE_SECURITY"
    case http11Required = "HTTP_1_1_REQUIRED"
    // Apple, "Handling notification responses from APNs": those about a whole connection.
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
    case duplicateHeaders = "DuplicateHeaders"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case idleTimeout = "IdleTimeout"
    case internalServerError = "InternalServerError"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case topicDisallowed = "TopicDisallowed"
    case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
    /// A reason without an error, or a code, that is none of these.
    case other

    /// - Parameter debug: the frame's debug data.
    package init(code: UInt32, debug: Span<UInt8>) {
        let text = APNsReason.text(in: debug)
        if let text, let known = Self.reasons.first(where: { text.elementsEqual($0.rawValue.utf8) })
        {
            self = known
        } else if text != nil, code == ErrorCode.none {
            self = .other
        } else {
            self = code < UInt32(Self.codes) ? Self.allCases[Int(code)] : .other
        }
    }

    /// The codes of RFC 9113 §7 are 0 to 13.
    private static let codes = 14
    private static let reasons = allCases.dropFirst(codes).dropLast()
}
