import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

private struct Kept: StateRecord, Equatable {
    struct Entry: Equatable {
        var name: String
        var key: [UInt8]
    }

    static let format: StaticString = "kept"
    static let version = 2
    static let byteLimit = 4096

    var sequence: UInt64
    var offset: Int
    var isRunning: Bool
    var ends: [Int]
    var boot: [UInt8]
    var entries: [Entry]

    static let sample = Kept(
        sequence: .max, offset: -5, isRunning: true, ends: [1, -2, 3], boot: [0xAB, 0],
        entries: [Entry(name: "a \"b\" é", key: [1]), Entry(name: "", key: [2])])

    func encode(to state: inout JSONText) {
        state.member("sequence", number: sequence)
        state.member("offset", number: offset)
        state.member("running", bool: isRunning)
        state.member("ends", numbers: ends)
        state.member("boot", hex: boot)
        state.beginArray("entries")
        for entry in entries {
            state.beginObject()
            state.member("name", string: entry.name)
            state.member("key", hex: entry.key)
            state.endObject()
        }
        state.endArray()
    }

    init(decoding state: inout StateObject) throws(StateDamage) {
        sequence = try state.unsigned("sequence")
        offset = try state.integer("offset")
        isRunning = try state.bool("running")
        ends = try state.integers("ends", in: -9...9)
        boot = try state.hex("boot", count: 2)
        entries = []
        for var entry in try state.objects("entries") {
            let name = try entry.string("name")
            entries.append(Entry(name: name, key: try entry.hex("key", count: 1)))
        }
    }

    init(
        sequence: UInt64, offset: Int, isRunning: Bool, ends: [Int], boot: [UInt8], entries: [Entry]
    ) {
        self.sequence = sequence
        self.offset = offset
        self.isRunning = isRunning
        self.ends = ends
        self.boot = boot
        self.entries = entries
    }
}

@Suite("State files")
struct StateFileTests {
    private static let vector =
        #"{"format":"kept","version":2,"state":{"sequence":18446744073709551615,"offset":-5,"#
        + #""running":true,"ends":[1,-2,3],"boot":"ab00","#
        + #""entries":[{"name":"a \"b\" é","key":"01"}"#
        + #",{"name":"","key":"02"}]}"#

    private static func fault(_ bytes: [UInt8]) -> StateFileFault? {
        do throws(StateFileFault) {
            _ = try Kept(stateFile: bytes)
            return nil
        } catch {
            return error
        }
    }

    /// A file with a correct checksum.
    private static func sealed(_ body: String) -> [UInt8] {
        let body = Array(body.utf8)
        let digits = String(CRC32.checksum(body.span), radix: 16)
        let padded = String(repeating: "0", count: 8 - digits.count) + digits
        return body + Array(",\"crc32\":\"\(padded)\"}\n".utf8)
    }

    @Test("CRC-32 of the check vector")
    func checksum() {
        let digits = Array("123456789".utf8)
        let ofDigits = CRC32.checksum(digits.span)
        let ofNothing = CRC32.checksum(digits.span.extracting(9..<9))
        #expect(ofDigits == 0xCBF4_3926 && ofNothing == 0)
    }

    @Test("a record is encoded as the vector and read back")
    func vector() throws {
        let bytes = Kept.sample.stateFile()
        #expect(bytes == Self.sealed(Self.vector))
        #expect(try Kept(stateFile: bytes) == .sample)
    }

    @Test("every changed byte and every missing end is found")
    func damage() {
        let bytes = Kept.sample.stateFile()
        for index in bytes.indices {
            let unnoticed = (1...UInt8.max).filter { mask in
                var changed = bytes
                changed[index] ^= mask
                return Self.fault(changed) != .damaged
            }
            #expect(unnoticed.isEmpty)
            #expect(Self.fault(Array(bytes[..<index])) == .damaged)
        }
        #expect(Self.fault(bytes + [10]) == .damaged)
    }

    @Test(
        "a correct checksum does not make up for the wrong members",
        arguments: [
            (#""version":2"#, #""version":1"#), (#""kept""#, #""other""#),
            (#""offset":-5,"#, ""), (#""offset":-5"#, #""offset":1.5"#),
            (#""offset":-5"#, #""offset":9999999999999999999"#),
            (#""offset":-5"#, #""offset":"5""#), (#""running":true"#, #""running":1"#),
            (#"[1,-2,3]"#, "[10]"), (#""ab00""#, #""AB00""#), (#""ab00""#, #""ab""#),
            (#""offset":-5"#, #""offset":-5,"more":0"#), (#""version":2"#, #""version":2,"x":0"#),
        ])
    func members(_ text: String, _ replacement: String) {
        let changed = Self.vector.replacing(text, with: replacement)
        #expect(changed != Self.vector)
        #expect(Self.fault(Self.sealed(changed)) == .damaged)
    }

    @Test("a newer version and an oversize file are named as such")
    func newer() {
        let newer = Self.vector.replacing(#""version":2"#, with: #""version":3"#)
        #expect(Self.fault(Self.sealed(newer)) == .newerVersion(3))
        #expect(Self.fault([UInt8](repeating: 32, count: Kept.byteLimit + 1)) == .tooLarge)
    }

    @Test("the file is private, replaced as a whole, and faults name it")
    func owner() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/kept"
        let file = StateFile<Kept>(path, protection: .secrecy)
        #expect(try file.readIfPresent() == nil)
        #expect(throws: StateFileError(path, .missing)) { try file.read() }
        try file.write(.sample)
        try file.write(.sample)
        #expect(try FileStatus(of: path).mode == 0o600)
        #expect(try file.read() == .sample)
        #expect(try Files.names(in: directory.path) == ["kept"])
        let sample = Kept.sample.stateFile()
        try Files.replace(path, with: sample.span, mode: 0o640)
        #expect(throws: StateFileError(path, .file(FileError(.open, EPERM)))) { try file.read() }
        #expect(try StateFile<Kept>(path, protection: .integrity).read() == .sample)
        try Files.replace(path, with: sample.span, mode: 0o620)
        #expect(throws: StateFileError.self) {
            try StateFile<Kept>(path, protection: .integrity).read()
        }
        #expect(try StateFile<Kept>(path).read() == .sample)
        let noise: [UInt8] = [1, 2]
        try Files.replace(path, with: noise.span)
        #expect(throws: StateFileError(path, .damaged)) { try file.read() }
        let large = [UInt8](repeating: 32, count: Kept.byteLimit + 1)
        try Files.replace(path, with: large.span)
        #expect(throws: StateFileError(path, .tooLarge)) { try file.read() }
        #expect(StateFileError(path, .damaged).message == "\(path): the file is damaged")
    }
}
