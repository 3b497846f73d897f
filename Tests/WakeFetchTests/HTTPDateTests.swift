import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Dates of HTTP")
struct HTTPDateTests {
    @Test(
        "the three formats of RFC 9110 name the same second",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ])
    func vectors(text: String) {
        #expect(HTTPDate.seconds(of: Array(text.utf8)) == 784_111_777)
    }

    @Test("a timestamp in UTC names its second, and nothing else is one")
    func timestamps() {
        for text in ["1994-11-06T08:49:37Z", "1994-11-06T08:49:37.999999999Z"] {
            #expect(HTTPDate.seconds(ofTimestamp: text) == 784_111_777)
        }
        for text in [
            "", "Z", "T", "TZ", "1994-11-06T08:49:37", "1994-11-06 08:49:37Z", "1994-11T08:49:37Z",
            "1994-00-06T08:49:37Z", "1994-11-31T08:49:37Z", "1994-11-06T08:49Z",
            "1994-13-06T08:49:37Z", "1994-11-06T08:49:37+01:00Z", "94-11-06T08:49:37Z",
            "1994-11-06T24:00:00Z",
        ] {
            #expect(HTTPDate.seconds(ofTimestamp: text) == nil, "\(text)")
        }
    }

    @Test(
        "everything else is no date",
        arguments: [
            "", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 8:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 2100 00:00:00 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 19940 08:49:37 GMT", "1994-11-06T08:49:37Z 000000000",
            "Sun, 06 Nov 1994 08:49 GMT    ", "Sun, 06 Nov 1994 08::37:00 GMT",
        ])
    func refused(text: String) {
        #expect(HTTPDate.seconds(of: Array(text.utf8)) == nil)
    }

    @Test("any second until 2200 is read as the C library counts it")
    func property() {
        var random = SplitMix64(seed: 2)
        for _ in 0..<20_000 {
            let seconds = Int.random(in: 0..<7_258_118_400, using: &random)
            let text = Self.format(seconds, "%a, %d %b %Y %H:%M:%S GMT")
            #expect(HTTPDate.seconds(of: text) == Int64(seconds))
            let asctime = Self.format(seconds, "%a %b %e %H:%M:%S %Y")
            #expect(HTTPDate.seconds(of: asctime) == Int64(seconds))
        }
    }

    private static func format(_ seconds: Int, _ pattern: String) -> [UInt8] {
        var seconds = seconds
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe strftime(&text, text.count, pattern, &parts)
        return text[..<count].map { UInt8(bitPattern: $0) }
    }
}
