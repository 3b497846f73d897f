import Glibc
import Testing
import WakeSystem

@Suite("Lines that nobody may read", .timeLimit(.minutes(5)))
struct LineWriterTests {
    /// A pipe whose reader decides when.
    private struct Pipe {
        let (reader, writer): (Int32, Int32)

        init() {
            var ends: [Int32] = [-1, -1]
            let result = unsafe pipe(&ends)
            precondition(result == 0, "a pipe")
            (reader, writer) = (ends[0], ends[1])
        }

        /// Reads until so many lines were read.
        func lines(_ count: Int) -> [Substring] {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while text.count(where: { $0 == 0x0A }) < count {
                let read = unsafe Glibc.read(reader, &buffer, buffer.count)
                if read <= 0 { break }
                text += buffer[..<read]
            }
            return String(decoding: text, as: UTF8.self).split(separator: "\n")
        }
    }

    private func writer(_ pipe: Pipe, capacity: Int) -> LineWriter {
        LineWriter(pipe.writer, capacity: capacity) { Array("dropped \($0)\n".utf8) }
    }

    @Test("are written in order, and a flush waits for the last one")
    func order() {
        let pipe = Pipe()
        let writer = writer(pipe, capacity: 65_536)
        for number in 0..<2_000 { writer.write(Array("\(number)\n".utf8)) }
        writer.flush(within: .seconds(240))
        close(pipe.writer)
        #expect(pipe.lines(2_000) == (0..<2_000).map { Substring("\($0)") })
    }

    @Test("are never waited for; what has no room is counted, and said once there is room")
    func unread() {
        let pipe = Pipe()
        let capacity = 10_000
        let writer = writer(pipe, capacity: capacity)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 99) + [0x0A]
        // The pipe takes 64 KiB, the writer as much as it may keep.
        for _ in 0..<2_000 { writer.write(line) }
        writer.flush(within: .milliseconds(10))
        var written = 0
        var dropped = 0
        while written + dropped < 2_000 {
            let lines = pipe.lines(1)
            written += lines.count { $0.count == 99 }
            for note in lines where note.hasPrefix("dropped ") {
                dropped += Int(note.dropFirst(8)) ?? 0
            }
        }
        #expect(written + dropped == 2_000 && dropped > 1_000)
        #expect(written * 100 >= capacity)
        writer.write(Array("last\n".utf8))
        #expect(pipe.lines(1) == ["last"])
    }

    @Test("whose reader has gone are lost, and nothing else")
    func gone() {
        let pipe = Pipe()
        close(pipe.reader)
        let writer = writer(pipe, capacity: 1_000)
        for _ in 0..<100 { writer.write(Array("nobody\n".utf8)) }
        writer.flush(within: .seconds(240))
    }
}
