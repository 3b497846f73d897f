import WakeModel
import WakeSystem

/// Random instance and push tokens of many app instances.
struct LoadTokens {
    let count: Int
    fileprivate let bytes: [UInt8]

    init(_ count: Int) {
        self.count = count
        bytes = Sodium.random(count * 64)
    }
}

/// Complete requests, made before they are sent.
struct LoadRequests {
    /// A request of a numbered app instance.
    enum Step: Sendable {
        case put(Int)
        case delete(Int)
    }

    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]

    var count: Int { ends.count - 1 }

    /// As many `PUT`, each of an app instance of its own.
    init(count: Int) {
        self.init((0..<count).map { .put($0) }, of: LoadTokens(count))
    }

    init(_ steps: [Step], of tokens: LoadTokens) {
        ends.reserveCapacity(steps.count + 1)
        bytes.reserveCapacity(steps.count * 300)
        for step in steps {
            switch step {
            case .put(let number): appendPut(number, tokens)
            case .delete(let number):
                bytes += Self.deleteHead
                bytes += Self.instance(number, tokens)
                bytes += Self.end
            }
            ends.append(bytes.count)
        }
    }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[ends[index]..<ends[index + 1]] }

    private mutating func appendPut(_ number: Int, _ tokens: LoadTokens) {
        bytes += Self.putHead
        bytes += Self.instance(number, tokens)
        bytes += Self.middle
        bytes += Hex.encode(tokens.bytes.span.extracting(number * 64 + 32..<number * 64 + 64))
        bytes += Self.tail
    }

    private static func instance(_ number: Int, _ tokens: LoadTokens) -> [UInt8] {
        Base64URL.encode(tokens.bytes.span.extracting(number * 64..<number * 64 + 32))
    }

    private static let opening = #"{"service":"apns","token":""#
    private static let tail = Array(#""}"#.utf8)
    private static let rest =
        "/v1/registration HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    private static let putHead = Array(("PUT " + rest).utf8)
    private static let deleteHead = Array(("DELETE " + rest).utf8)
    private static let end = Array("\r\n\r\n".utf8)
    private static let middle = Array(
        ("\r\nContent-Type: application/json\r\nContent-Length: "
            + "\(opening.utf8.count + 64 + tail.count)\r\n\r\n" + opening).utf8)
}
