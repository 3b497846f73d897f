import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("Bytes of requests")
struct WipingTests {
    @Test("are overwritten where they stand")
    func inPlace() {
        var bytes: [UInt8] = [1, 2, 3, 4]
        bytes.wipe(1..<3)
        #expect(bytes == [1, 0, 0, 4])
        bytes.wipe()
        #expect(bytes == [0, 0, 0, 0])
        var none: [UInt8] = []
        none.wipe()
        #expect(none.isEmpty)
    }

    @Test("survive in a slice that outlives the request, and only there")
    func slices() {
        var request: Request? = makeRequest()
        let body = request?.body
        request = nil
        #expect(body.map(Array.init) == Array("secret".utf8))
    }

    // Reading what has been freed is what the address sanitizer ends a program for.
    @Test("are zeros in memory once the request is gone", .disabled(if: Sanitizer.isActive))
    func wipedOnRelease() throws {
        var request: Request? = makeRequest()
        // The address of the storage, looked at after the request let go but before anybody else
        // asked for memory.
        let address = unsafe try #require(request?.body).withUnsafeBytes {
            UInt(bitPattern: $0.baseAddress)
        }
        let keeper = KeptMemory(address: address, count: 6)
        #expect(keeper.bytes() == Array("secret".utf8))
        request = nil
        // The allocator may have written its own links over the first words, but the text is gone.
        #expect(keeper.bytes() != Array("secret".utf8))
        #expect(!String(decoding: keeper.bytes(), as: UTF8.self).contains("cret"))
    }

    @Test("grow without leaving a copy behind")
    func growing() {
        var bytes: [UInt8] = []
        var expected: [UInt8] = []
        for index in 0..<300 {
            let more = [UInt8](repeating: UInt8(index & 0xFF), count: index % 7)
            bytes.appendWiping(more.span)
            expected += more
        }
        #expect(bytes == expected)
    }

    private func makeRequest() -> Request {
        let wire = Array("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nsecret".utf8)
        return Request(bytes: wire, head: ParserRun.feed(wire).head)
    }
}

/// Looks at an address again after its owner has let go: only a test of wiping may.
private struct KeptMemory {
    let address: UInt
    let count: Int

    func bytes() -> [UInt8] {
        guard let pointer = unsafe UnsafePointer<UInt8>(bitPattern: address) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: pointer, count: count))
    }
}
