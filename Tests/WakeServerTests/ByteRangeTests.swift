import Testing

@testable import WakeServer

@Suite("Range requests")
struct ByteRangeTests {
    @Test(
        "single ranges follow RFC 9110 §14.1.2 for 100 bytes",
        arguments: [
            ("bytes=0-", ByteRange.part(first: 0, count: 100)),
            ("bytes=10-19", .part(first: 10, count: 10)),
            ("bytes=90-200", .part(first: 90, count: 10)),
            ("bytes=-5", .part(first: 95, count: 5)),
            ("bytes=-500", .part(first: 0, count: 100)),
            ("bytes=99-", .part(first: 99, count: 1)),
            ("bytes=100-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            // Malformed, several, another unit: ignored, the whole is sent (§14.2).
            ("bytes=5-4", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
            ("bytes=0-1,5-6", .whole), ("lines=0-1", .whole), ("bytes 0-1", .whole),
            ("bytes=99999999999999999999-", .whole), ("bytes=1-2-3", .whole),
        ])
    func ranges(_ value: String, _ expected: ByteRange) {
        #expect(ByteRange(Array(value.utf8)[...], size: 100) == expected)
    }

    @Test("no field means the whole")
    func absent() {
        #expect(ByteRange(nil, size: 100) == .whole)
    }
}
