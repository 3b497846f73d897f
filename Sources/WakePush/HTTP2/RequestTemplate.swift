import WakeSystem

/// The one request of a connection without the push token, which ends the path or is in the body.
package struct RequestTemplate: Sendable, Redacted {
    package struct Field: Sendable, Equatable {
        package var name: [UInt8]
        package var value: [UInt8]

        /// - Parameter name: lower case, as HTTP/2 wants it.
        package init(_ name: String, _ value: String) {
            self.name = Array(name.utf8)
            self.value = Array(value.utf8)
        }
    }

    package enum TokenPlace: Sendable {
        /// After `path`.
        case path
        /// Between `body` and `bodyTail`; the caller's tokens need no escaping there.
        case body
    }

    package var scheme: String
    package var authority: String
    package var path: String
    package var tokenPlace: TokenPlace
    package var fields: [Field]
    /// Value of `authorization`; empty: none is sent.
    package var authorization: [UInt8]
    /// Puts `authorization` into the peer's table. Apple advises against it.
    package var indexesAuthorization: Bool
    package var body: [UInt8]
    package var bodyTail: [UInt8]

    package init(
        scheme: String = "https", authority: String, path: String,
        tokenPlace: TokenPlace = .path, fields: [Field] = [], authorization: [UInt8] = [],
        indexesAuthorization: Bool = false, body: [UInt8] = [], bodyTail: [UInt8] = []
    ) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.tokenPlace = tokenPlace
        self.fields = fields
        self.authorization = authorization
        self.indexesAuthorization = indexesAuthorization
        self.body = body
        self.bodyTail = bodyTail
    }

    /// Longest push token, bytes: a request fits the smallest frame size there is.
    package static let tokenBytes = 4096

    /// True when every request fits one HEADERS and one DATA frame of 16,384 bytes.
    package var fitsFrames: Bool {
        let block = fields.reduce(authority.utf8.count + path.utf8.count + 512) {
            $0 + $1.name.count + $1.value.count + 16
        }
        return block + authorization.count + Self.tokenBytes <= 16_384
            && body.count + bodyTail.count + Self.tokenBytes <= 16_384
    }
}
