import Glibc
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("The Date field")
struct DateFieldTests {
    private func text(_ second: Int) -> String {
        var bytes: [UInt8] = []
        DateField.append(second, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("is the one of RFC 9110 §5.6.7")
    func example() {
        #expect(text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(text(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(text(951_782_399) == "Mon, 28 Feb 2000 23:59:59 GMT")
        #expect(text(951_782_400) == "Tue, 29 Feb 2000 00:00:00 GMT")
        #expect(text(4_107_542_400) == "Mon, 01 Mar 2100 00:00:00 GMT")
    }

    @Test("agrees with the C library on ten thousand moments until 2300")
    func againstGlibc() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<10_000 {
            let second = Int.random(in: 0..<10_413_792_000, using: &random)
            var time = time_t(second)
            var parts = unsafe tm()
            unsafe gmtime_r(&time, &parts)
            var buffer = [CChar](repeating: 0, count: 64)
            let count = unsafe strftime(&buffer, 64, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            let expected = String(
                decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text(second) != expected { Issue.record("\(second) is \(expected)") }
        }
    }

    @Test("is made anew when the second changes")
    func caching() {
        var field = DateField()
        field.update(to: 0)
        let first = field.line
        field.update(to: 0)
        #expect(field.line == first)
        field.update(to: 1)
        #expect(
            String(decoding: field.line, as: UTF8.self)
                == "Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n")
    }
}
