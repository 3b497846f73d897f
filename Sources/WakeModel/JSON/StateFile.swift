package import Glibc
package import WakeSystem

/// A small state file that is replaced as a whole, durably: one line of JSON with a checksum over
/// every byte before `,"crc32"`.
/// ```
/// {"format":"rotation","version":1,"state":{"generation":12,"asked":false},"crc32":"1c291ca3"}
/// ```
package struct StateFile<Record: StateRecord>: Sendable {
    package let path: String
    private let mode: mode_t
    private let protection: StateFileProtection

    /// - Parameter protection: what the file's permissions must rule out for it to be read.
    package init(_ path: String, mode: mode_t = 0o600, protection: StateFileProtection = .none) {
        self.path = path
        self.mode = mode
        self.protection = protection
    }

    /// - Throws: also when there is no file (`.missing`).
    package func read() throws(StateFileError) -> Record {
        var bytes: [UInt8]
        do throws(FileError) {
            let status = try FileStatus(of: path)
            guard status.isRegular, protection.allows(status) else { throw FileError(.open, EPERM) }
            bytes = try Files.read(path, limit: Record.byteLimit)
        } catch {
            switch error.number {
            case ENOENT: throw StateFileError(path, .missing)
            case EFBIG: throw StateFileError(path, .tooLarge)
            default: throw StateFileError(path, .file(error))
            }
        }
        defer { bytes.wipe() }
        return try mapError({ StateFileError(path, $0) }, Record(stateFile: bytes))
    }

    package func readIfPresent() throws(StateFileError) -> Record? {
        do throws(StateFileError) {
            return try read()
        } catch {
            guard error.fault == .missing else { throw error }
            return nil
        }
    }

    /// Replaces the file; the record is durable when this returns.
    package func write(_ record: Record) throws(StateFileError) {
        var bytes = record.stateFile()
        defer { bytes.wipe() }
        guard bytes.count <= Record.byteLimit else { throw StateFileError(path, .tooLarge) }
        try mapError(
            { StateFileError(path, .file($0)) }, Files.replace(path, with: bytes.span, mode: mode))
    }
}

/// A value that is kept in a state file.
package protocol StateRecord: Sendable {
    /// The name of the format: lower-case ASCII letters and hyphens.
    static var format: StaticString { get }
    /// Starts at 1; raised when older readers would misunderstand the members.
    static var version: Int { get }
    /// Largest size of a file, in bytes.
    static var byteLimit: Int { get }

    func encode(to state: inout JSONText)

    /// Reads every member that `encode` writes; one that is left over is damage, too.
    init(decoding state: inout StateObject) throws(StateDamage)
}

extension StateRecord {
    package func stateFile() -> [UInt8] {
        var text = JSONText(capacity: 512)
        text.beginObject()
        text.member("format", string: Self.format)
        text.member("version", number: Self.version)
        text.beginObject("state")
        encode(to: &text)
        text.endObject()
        var bytes = text.bytes
        let digits = Self.checksum(bytes.span)
        bytes.append(text: ",\"crc32\":\"")
        bytes += digits
        bytes.append(text: "\"}\n")
        return bytes
    }

    package init(stateFile bytes: [UInt8]) throws(StateFileFault) {
        guard bytes.count <= Self.byteLimit else { throw .tooLarge }
        let end = bytes.count - ",\"crc32\":\"01234567\"}\n".utf8.count
        guard end > 0, bytes.span.extracting(end..<(end + 10)).equals(",\"crc32\":\""),
            bytes.span.extracting((end + 18)..<bytes.count).equals("\"}\n"),
            bytes.span.extracting((end + 10)..<(end + 18))
                .equals(Self.checksum(bytes.span.extracting(0..<end)))
        else { throw .damaged }
        let envelope = try? JSONValue(parsing: Array(bytes[..<end]) + [UInt8(ascii: "}")])
        guard var file = StateObject(envelope), (try? file.string("format")) == "\(Self.format)",
            let version = try? file.integer("version")
        else { throw .damaged }
        guard version <= Self.version else { throw .newerVersion(version) }
        guard version == Self.version, var state = try? file.object("state"), file.isEmpty
        else { throw .damaged }
        guard let record = try? Self(decoding: &state), state.isEmpty else { throw .damaged }
        self = record
    }

    private static func checksum(_ bytes: Span<UInt8>) -> [UInt8] {
        var number: [UInt8] = []
        number.append(bigEndian: CRC32.checksum(bytes))
        return Hex.encode(number.span)
    }
}

/// A member of a state object is absent, of another type, or out of range.
package struct StateDamage: Error, Equatable {
    package init() {}
}

/// The members of an object of a state file: read by name and type, each once.
package struct StateObject {
    private var members: [String: JSONValue]

    init?(_ value: JSONValue?) {
        guard case .object(let members) = value else { return nil }
        self.members = members
    }

    /// True when every member was read.
    package var isEmpty: Bool { members.isEmpty }

    package func contains(_ name: String) -> Bool { members[name] != nil }

    /// An integer; the range that is allowed by default is exact in every JSON reader.
    package mutating func integer(
        _ name: String, in range: ClosedRange<Int> = -1 << 53...1 << 53
    ) throws(StateDamage) -> Int {
        guard let value = members.removeValue(forKey: name)?.integer, range.contains(value)
        else { throw StateDamage() }
        return value
    }

    /// An integer that is not negative, of up to 64 bits.
    package mutating func unsigned(_ name: String) throws(StateDamage) -> UInt64 {
        guard case .number(false, let value) = members.removeValue(forKey: name)
        else { throw StateDamage() }
        return value
    }

    package mutating func integers(
        _ name: String, in range: ClosedRange<Int> = -1 << 53...1 << 53
    ) throws(StateDamage) -> [Int] {
        var integers: [Int] = []
        for element in try array(name) {
            guard let value = element.integer, range.contains(value) else { throw StateDamage() }
            integers.append(value)
        }
        return integers
    }

    package mutating func bool(_ name: String) throws(StateDamage) -> Bool {
        guard case .bool(let value) = members.removeValue(forKey: name) else { throw StateDamage() }
        return value
    }

    package mutating func string(_ name: String) throws(StateDamage) -> String {
        String(decoding: try text(name), as: UTF8.self)
    }

    package mutating func text(_ name: String) throws(StateDamage) -> [UInt8] {
        guard case .string(let value) = members.removeValue(forKey: name)
        else { throw StateDamage() }
        return value
    }

    /// Exactly `count` bytes in lower-case hexadecimal digits.
    package mutating func hex(_ name: String, count: Int) throws(StateDamage) -> [UInt8] {
        let digits = try text(name)
        guard let bytes = Hex.decode(digits.span), bytes.count == count,
            Hex.encode(bytes.span) == digits
        else { throw StateDamage() }
        return bytes
    }

    package mutating func object(_ name: String) throws(StateDamage) -> StateObject {
        guard let object = StateObject(members.removeValue(forKey: name))
        else { throw StateDamage() }
        return object
    }

    package mutating func objects(_ name: String) throws(StateDamage) -> [StateObject] {
        var objects: [StateObject] = []
        for element in try array(name) {
            guard let object = StateObject(element) else { throw StateDamage() }
            objects.append(object)
        }
        return objects
    }

    private mutating func array(_ name: String) throws(StateDamage) -> [JSONValue] {
        guard case .array(let elements) = members.removeValue(forKey: name)
        else { throw StateDamage() }
        return elements
    }
}

/// The access that the permissions of a state file must rule out.
package enum StateFileProtection: Sendable {
    case none
    /// Other users may not write it.
    case integrity
    /// Only this process's user has access.
    case secrecy

    fileprivate func allows(_ status: FileStatus) -> Bool {
        switch self {
        case .none: true
        case .integrity: status.mode & 0o022 == 0
        case .secrecy: status.isPrivate
        }
    }
}

package enum StateFileFault: Error, Sendable, Equatable {
    case missing
    /// Changed, cut off, or of another format.
    case damaged
    /// Written by a newer version of the program.
    case newerVersion(Int)
    case tooLarge
    /// The system refused; `EPERM` also when the permissions are wider than allowed.
    case file(FileError)
}

package struct StateFileError: Error, Sendable, Equatable {
    package let path: String
    package let fault: StateFileFault

    package init(_ path: String, _ fault: StateFileFault) {
        self.path = path
        self.fault = fault
    }

    /// The process may not use the file, or others can write it.
    package var isNotPermitted: Bool {
        if case .file(let error) = fault { error.isNotPermitted } else { false }
    }

    /// One line: the file and the fault.
    package var message: String {
        switch fault {
        case .missing: "\(path): there is no such file"
        case .damaged: "\(path): the file is damaged"
        case .newerVersion(let version):
            "\(path): version \(version) of this file needs a newer program"
        case .tooLarge: "\(path): the file is too large"
        case .file(let error): "\(path): \(error.reason)"
        }
    }
}

/// CRC-32 (ISO 3309, RFC 1952 §8): detects every change of up to 32 bits in a row; no protection
/// against an attacker.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320
        }
    }

    package static func checksum(_ bytes: Span<UInt8>) -> UInt32 {
        var remainder = UInt32.max
        for index in bytes.indices {
            remainder =
                remainder >> 8 ^ table[Int(UInt8(truncatingIfNeeded: remainder) ^ bytes[index])]
        }
        return ~remainder
    }
}
