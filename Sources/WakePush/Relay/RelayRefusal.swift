import WakeModel

/// How a request to a relay ended.
enum RelayEnd: Sendable, Equatable {
    /// An answer of lines came to its end, or was cut.
    case answered
    /// The relay said no.
    case refused(RelayRefusal)
    /// The connection broke: the relay may have seen the request.
    case cut
    /// There was none.
    case unconnected(isUnknownHost: Bool)
    /// The relay's certificate cannot be trusted.
    case untrusted
}

/// What an answer that is not one of lines means.
enum RelayRefusal: Sendable, Equatable {
    case fault(RelayFault)
    /// - `difference`: seconds by which the relay's clock is ahead of ours, if it tells.
    case stale(difference: Int?)
    /// Too many requests or wake-ups.
    /// - `retryAfter`: seconds the relay asked to wait, 0 when it did not.
    case busy(retryAfter: Int)
    /// The relay failed, or is about to stop.
    case failed(retryAfter: Int)
    /// It has seen the same request before: the network sent it twice.
    case replayed

    /// - Parameters:
    ///   - body: problem+json of a relay, or whatever came.
    ///   - difference: as above.
    init(status: Int, retryAfter: Int?, body: [UInt8], difference: Int?) {
        let code = Self.code(in: body)
        func says(_ word: StaticString) -> Bool { code?.span.equals(word) == true }
        switch status {
        case 401 where says("signature_stale"): self = .stale(difference: difference)
        case 401 where says("signature_replayed"): self = .replayed
        case 401 where says("signature_missing") || says("signature_malformed"),
            401 where says("signature_wrong"):
            self = .fault(.signatureRefused)
        case 403 where says("installation_unknown"): self = .fault(.notAllowed)
        case 404: self = .fault(.noRelay)
        case 429: self = .busy(retryAfter: retryAfter ?? 0)
        case 408, 500...599: self = .failed(retryAfter: retryAfter ?? 0)
        default: self = .fault(.requestRefused(status: status))
        }
    }

    /// RFC 9457 §3.2: `code` is a member of our own.
    private static func code(in body: [UInt8]) -> [UInt8]? {
        var code: [UInt8]?
        do throws(JSONError) {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    if name.span.equals("code") {
                        code = try scanner.string()
                    } else {
                        try scanner.skip()
                    }
                }
            }
            return code
        } catch {
            return nil
        }
    }
}
