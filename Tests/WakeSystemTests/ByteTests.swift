import Testing
import WakeSystem

private struct Secret: Redacted { let value = "secret" }

@Suite("Bytes")
struct ByteTests {
    @Test("integers are written and read in both orders")
    func integers() {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(0x0102_0304))
        bytes.append(littleEndian: UInt16(0x0506))
        #expect(bytes == [1, 2, 3, 4, 6, 5])
        let big: UInt32 = bytes.span.bigEndian(at: 0)
        let little: UInt16 = bytes.span.littleEndian(at: 4)
        #expect(big == 0x0102_0304 && little == 0x0506)
        bytes.put(bigEndian: UInt16(0xA0B0), at: 1)
        bytes.put(littleEndian: UInt16(0xC0D0), at: 3)
        #expect(bytes == [1, 0xA0, 0xB0, 0xD0, 0xC0, 5])
    }

    @Test("zeros are told from anything else, at every place of a range")
    func zeros() {
        for count in 0...20 {
            var bytes = [UInt8](repeating: 0, count: count + 2)
            (bytes[0], bytes[count + 1]) = (1, 1)
            let isZero = bytes.span.isZero(1..<count + 1)
            #expect(isZero)
            for index in 1..<count + 1 {
                bytes[index] = 0x80
                let isStillZero = bytes.span.isZero(1..<count + 1)
                #expect(!isStillZero)
                bytes[index] = 0
            }
        }
    }

    @Test("a run of equal bytes ends at another byte, at the bound and at the end")
    func runs() {
        for length in [1, 2, 15, 16, 17, 18, 63, 64, 65, 81, 337, 1000] {
            var bytes = [UInt8](repeating: 7, count: length + 3)
            (bytes[0], bytes[length + 1]) = (6, 8)
            let found = bytes.span.runLength(at: 1, most: 5000)
            let bounded = bytes.span.runLength(at: 1, most: length)
            let shorter = bytes.span.runLength(at: 1, most: max(1, length - 1))
            let last = bytes.span.runLength(at: length + 2, most: 9)
            #expect(found == length && bounded == length && last == 1)
            #expect(shorter == max(1, length - 1))
            bytes.fill(1..<length + 1, with: 8)
            let filled = bytes.span.runLength(at: 1, most: 5000)
            #expect(filled == length + 1 && bytes[0] == 6 && bytes[length + 2] == 7)
        }
    }

    @Test("numbers in decimal and hexadecimal digits", arguments: [0, 7, 10, 255, 4096, Int.max])
    func digits(_ number: Int) {
        var (decimal, hexadecimal): ([UInt8], [UInt8]) = ([], [])
        decimal.append(decimal: number)
        hexadecimal.append(hexadecimal: number)
        #expect(decimal == Array(String(number).utf8))
        #expect(hexadecimal == Array(String(number, radix: 16).utf8))
    }

    @Test("comparisons with constants")
    func comparisons() {
        let bytes = Array("Content-Length".utf8)
        let isSame = bytes.span.equals("Content-Length")
        let isOther = bytes.span.equals("content-length")
        let isSameIgnoringCase = bytes.span.equalsIgnoringCase("CONTENT-LENGTH")
        let isShorter = bytes.span.equalsIgnoringCase("content")
        #expect(isSame && !isOther && isSameIgnoringCase && !isShorter)
        // Only letters have two cases: "@" and "`" differ by the same bit.
        let at: [UInt8] = [0x40]
        let isEqual = at.span.equalsIgnoringCase("`")
        #expect(!isEqual)
    }

    @Test("wiping leaves zeros and the count")
    func wiping() {
        var bytes: [UInt8] = [1, 2, 3, 4]
        bytes.wipe(1..<3)
        #expect(bytes == [1, 0, 0, 4])
        let more: [UInt8] = [5, 6]
        bytes.appendWiping(more.span)
        #expect(bytes == [1, 0, 0, 4, 5, 6])
        bytes.wipe()
        #expect(bytes == [UInt8](repeating: 0, count: 6))
    }

    @Test("a redacted value shows its type alone")
    func redacted() {
        let secret = Secret()
        #expect("\(secret)" == "(Secret)" && String(reflecting: secret) == "(Secret)")
        #expect(Mirror(reflecting: secret).children.isEmpty && secret.value == "secret")
    }
}
