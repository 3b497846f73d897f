/// What the fields that frame a message said so far, and the verdict on them at the end of the
/// head.
struct Framing: Sendable, Equatable {
    var contentLength: Int?
    var hasTransferEncoding = false
    var hostCount = 0
    var closes = false
    var expectsContinue = false
    /// Anything else than 100-continue was expected.
    var expectsUnknown = false

    enum Verdict: Equatable {
        /// The number of body bytes.
        case success(Int)
        case failure(Refusal)
    }

    func verdict(on head: RequestHead, bodyLimit: Int) -> Verdict {
        // RFC 9112 §3.2: exactly one Host in HTTP/1.1; more than one is wrong in any version.
        guard hostCount == 1 || (hostCount == 0 && head.isVersion10) else {
            return .failure(.malformed)
        }
        if hasTransferEncoding {
            // RFC 9112 §6.1: with Content-Length this is how smuggling starts, and in HTTP/1.0 it
            // is faulty framing. By itself it is a coding this server does not have.
            let isFaulty = contentLength != nil || head.isVersion10
            return .failure(isFaulty ? .malformed : .transferEncoding)
        }
        // RFC 9110 §10.1.1
        if expectsUnknown { return .failure(.expectationUnknown) }
        guard let contentLength else {
            // RFC 9112 §6.3: no length is no body, but these methods mean to send one (RFC 9110
            // §15.5.12).
            let needsBody = head.method == .put || head.method == .post
            return needsBody ? .failure(.lengthRequired) : .success(0)
        }
        // RFC 9110 §15.5.14
        guard contentLength <= bodyLimit else { return .failure(.contentTooLarge) }
        return .success(contentLength)
    }

    /// RFC 9112 §6.2, §6.3: digits only, so no sign, no list, no white space inside; nil also on
    /// overflow.
    static func parseLength(_ value: Span<UInt8>) -> Int? {
        guard value.count > 0 else { return nil }
        var length = 0
        for index in 0..<value.count {
            guard value[index].isDigit else { return nil }
            let (product, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(Int(value[index] - 0x30))
            guard !overflows, !carries else { return nil }
            length = sum
        }
        return length
    }
}
