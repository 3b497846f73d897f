import WakeModel
import WakeSodium
import WakeSystem

/// As many complete requests as a run needs, each with instance and push tokens used once.
struct LoadRequests {
    let count: Int
    private let bytes: [UInt8]
    private let size: Int

    init(count: Int) {
        let random = Sodium.random(count * 64)
        var bytes: [UInt8] = []
        for index in 0..<count {
            bytes += Self.head
            bytes += Base64URL.encode(random.span.extracting(index * 64..<index * 64 + 32))
            bytes += Self.middle
            bytes += Hex.encode(random.span.extracting(index * 64 + 32..<index * 64 + 64))
            bytes += Self.tail
            if index == 0 { bytes.reserveCapacity(bytes.count * count) }
        }
        self.count = count
        self.bytes = bytes
        size = count == 0 ? 0 : bytes.count / count
    }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[index * size..<(index + 1) * size] }

    private static let opening = #"{"service":"apns","token":""#
    private static let tail = Array(#""}"#.utf8)
    private static let head = Array(
        "PUT /v1/registration HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ".utf8)
    private static let middle = Array(
        ("\r\nContent-Type: application/json\r\nContent-Length: "
            + "\(opening.utf8.count + 64 + tail.count)\r\n\r\n" + opening).utf8)
}
