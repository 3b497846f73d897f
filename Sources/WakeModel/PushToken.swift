import WakeSystem

/// The address that a push service issued for one app instance: an APNs or FCM token, or a Web Push
/// endpoint. The bytes are the wire form: decoded hexadecimal for APNs, otherwise characters; the
/// keys of a Web Push subscription follow its endpoint (``SubscriptionKeys``).
package struct PushToken: Sendable, Equatable {
    package let service: PushService
    package let bytes: SecretBytes

    /// - Throws: what the bytes break; never which ones.
    package init(service: PushService, bytes: [UInt8]) throws(PushTokenError) {
        try self.init(service: service, bytes: bytes.span)
    }

    /// - Throws: what the bytes break; never which ones.
    package init(service: PushService, bytes: Span<UInt8>) throws(PushTokenError) {
        try Self.validate(service: service, bytes)
        self.service = service
        self.bytes = SecretBytes(bytes)
    }

    /// The same for one of many.
    package init(
        service: PushService, bytes: Span<UInt8>, in pool: inout SecretPool
    ) throws(PushTokenError) {
        try Self.validate(service: service, bytes)
        self.service = service
        self.bytes = pool.insert(bytes)
    }

    /// Parses the member of a `PUT` body: hexadecimal for APNs, otherwise the characters.
    package init(service: PushService, text: Span<UInt8>) throws(PushTokenError) {
        var decoded: [UInt8]
        switch service {
        case .apns, .apnsSandbox:
            guard text.count <= Limits.apnsTokenBytes.upperBound * 2 else { throw .tooLong }
            guard let bytes = Hex.decode(text) else { throw .malformed }
            decoded = bytes
        case .fcm, .webPush:
            guard text.count <= Limits.pushTokenBytes else { throw .tooLong }
            decoded = text.array
        }
        defer { decoded.wipe() }
        try self.init(service: service, bytes: decoded)
    }

    /// An endpoint with the keys of its subscription.
    package init(endpoint: Span<UInt8>, keys: SubscriptionKeys) throws(PushTokenError) {
        guard endpoint.count <= Limits.keyedEndpointBytes else { throw .tooLong }
        var bytes = endpoint.array
        defer { bytes.wipe() }
        keys.append(to: &bytes)
        try self.init(service: .webPush, bytes: bytes)
    }

    /// The keys of a Web Push subscription, when it was registered with them.
    package var keys: SubscriptionKeys? {
        service == .webPush ? bytes.withSpan { SubscriptionKeys(suffixOf: $0) } : nil
    }

    /// Lends what names the receiver: the bytes without keys.
    package func withAddress<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard service == .webPush else { return try bytes.withSpan(body) }
        return try bytes.withSpan { (bytes) throws(Failure) in
            try body(bytes.extracting(0..<SubscriptionKeys.addressCount(bytes)))
        }
    }

    /// The text as the app sent it, without keys and up to the case of hexadecimal digits.
    package func text() -> SecretBytes {
        switch service {
        case .apns, .apnsSandbox:
            var text = bytes.withSpan { Hex.encode($0) }
            defer { text.wipe() }
            return SecretBytes(text)
        case .fcm: return bytes
        case .webPush: return withAddress { SecretBytes($0) }
        }
    }

    private static func validate(
        service: PushService, _ bytes: Span<UInt8>
    ) throws(PushTokenError) {
        guard bytes.count <= Limits.pushTokenBytes else { throw .tooLong }
        switch service {
        case .apns, .apnsSandbox:
            if bytes.count > Limits.apnsTokenBytes.upperBound { throw .tooLong }
            guard Limits.apnsTokenBytes.contains(bytes.count) else { throw .malformed }
        case .fcm:
            // Opaque, but it travels in JSON: visible ASCII is all that FCM issues.
            guard !bytes.isEmpty else { throw .malformed }
            for index in bytes.indices where !(0x21...0x7E).contains(bytes[index]) {
                throw .malformed
            }
        case .webPush:
            let count = SubscriptionKeys.addressCount(bytes)
            guard PushEndpoint(bytes.extracting(0..<count)) != nil else { throw .malformed }
        }
    }
}

package enum PushTokenError: Error, Equatable {
    /// Longer than one fixed-size row can hold; answered 413.
    case tooLong
    /// Not of the form its push service issues; answered 400.
    case malformed
}

extension PushToken: Redacted {
    package var description: String { "(push token)" }
}

/// A push service. The raw value is the byte inside the sealed column; it never changes meaning.
package enum PushService: UInt8, Sendable, CaseIterable {
    case apns = 1
    case apnsSandbox = 2
    case fcm = 3
    case webPush = 4

    /// The name in HTTP, configuration and command line.
    package var name: StaticString {
        switch self {
        case .apns: "apns"
        case .apnsSandbox: "apns-sandbox"
        case .fcm: "fcm"
        case .webPush: "webpush"
        }
    }

    package init?(name: Span<UInt8>) {
        guard let service = Self.allCases.first(where: { name.equals($0.name) }) else { return nil }
        self = service
    }

    /// The JSON member that carries the push token.
    package var member: StaticString { self == .webPush ? "endpoint" : "token" }
}
