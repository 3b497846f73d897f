import Foundation
import Glibc
import TestSupport
import Testing
import WakeSystem

@Suite("Lines of a descriptor, and the holder of a lock")
struct InputLinesTests {
    /// A pipe; both ends are closed with it.
    private struct Pipe: ~Copyable {
        let reader: Int32
        let writer: Int32

        init(flags: Int32 = 0) throws {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw TestFailure("pipe: errno \(errno)") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            _ = fcntl(ends[0], F_SETFL, flags)
            (reader, writer) = (ends[0], ends[1])
        }

        deinit { close(reader) }

        /// Writes in pieces of the given lengths, and closes the end.
        func send(_ bytes: [UInt8], pieces: [Int]) {
            let writer = writer
            Thread.detachNewThread {
                var rest = bytes[...]
                for piece in pieces + [bytes.count] where !rest.isEmpty {
                    let part = Array(rest.prefix(max(1, piece)))
                    _ = unsafe write(writer, part, part.count)
                    rest = rest.dropFirst(part.count)
                }
                close(writer)
            }
        }
    }

    private static func lines(_ descriptor: Int32, limit: Int = 65_536) -> [[UInt8]] {
        var reader = InputLines(descriptor, limit: limit)
        var lines: [[UInt8]] = []
        while let line = reader.next() { lines.append(line) }
        return lines
    }

    @Test(
        "random lines come whole, however they are cut, also where nothing is there yet",
        arguments: [0, O_NONBLOCK])
    func random(_ flags: Int32) throws {
        var random = SplitMix64(seed: 43)
        for _ in 0..<200 {
            let lines = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    UInt8.random(in: 0x20...0xFF, using: &random)
                }
            }
            let isWindows = Bool.random(using: &random)
            let end: [UInt8] = isWindows ? [0x0D, 0x0A] : [0x0A]
            var bytes = Array(lines.map { $0 + end }.joined())
            var expected = lines
            if Bool.random(using: &random) {
                bytes += [0x61]
                expected.append([0x61])
            }
            let pipe = try Pipe(flags: flags)
            pipe.send(
                bytes, pieces: (0..<20).map { _ in Int.random(in: 1...30, using: &random) })
            #expect(Self.lines(pipe.reader) == expected)
        }
    }

    @Test("of a line that is too long the begin is left, and the next one is whole")
    func long() throws {
        let pipe = try Pipe()
        pipe.send(Array((String(repeating: "x", count: 30_000) + "\nnext\n").utf8), pieces: [7])
        let lines = Self.lines(pipe.reader, limit: 100)
        #expect(lines == [[UInt8](repeating: 0x78, count: 100), Array("next".utf8)])
    }

    @Test("what cannot be read is an end")
    func closed() throws {
        #expect(Self.lines(-1).isEmpty)
        let directory = unsafe open("/", O_RDONLY | O_CLOEXEC)
        defer { close(directory) }
        #expect(Self.lines(directory).isEmpty)
    }

    @Test("the process that holds a lock is seen, also through a link above the file, and its end")
    func holder() throws {
        let directory = try TemporaryDirectory()
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: directory.path + "/real", withIntermediateDirectories: false)
        try manager.createSymbolicLink(
            atPath: directory.path + "/link", withDestinationPath: "real")
        let path = directory.path + "/real/lock"
        #expect(Files.lockHolder(of: path) == nil)
        let lock = try OpenFile(path, flags: O_RDWR | O_CREAT)
        #expect(Files.lockHolder(of: path) == nil)
        try lock.lockExclusively()
        #expect(Files.lockHolder(of: path) == getpid())
        #expect(Files.lockHolder(of: directory.path + "/link/lock") == getpid())
        _ = try OpenFile(directory.path + "/other", flags: O_RDWR | O_CREAT)
        #expect(Files.lockHolder(of: directory.path + "/other") == nil)
        lock.unlock()
        #expect(Files.lockHolder(of: path) == nil)
    }
}
