/// Which push service issued a push token. The raw value is the byte inside the sealed column; it
/// never changes meaning.
package enum PushService: UInt8, Sendable, CaseIterable {
    case apns = 1
    case apnsSandbox = 2
    case fcm = 3
    case webPush = 4

    /// The word in HTTP, configuration and command line.
    package var word: StaticString {
        switch self {
        case .apns: "apns"
        case .apnsSandbox: "apns-sandbox"
        case .fcm: "fcm"
        case .webPush: "webpush"
        }
    }

    package init?(word: Span<UInt8>) {
        for service in Self.allCases where word.equals(service.word) {
            self = service
            return
        }
        return nil
    }

    /// The JSON member that carries the push token.
    package var member: StaticString { self == .webPush ? "endpoint" : "token" }
}

extension Span where Element == UInt8 {
    /// Compares with a constant without making a `String` of what may be secret.
    package func equals(_ constant: StaticString) -> Bool {
        guard constant.utf8CodeUnitCount == count else { return false }
        return constant.withUTF8Buffer { other in
            for index in 0..<count where unsafe self[index] != other[index] { return false }
            return true
        }
    }
}
