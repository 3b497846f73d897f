private import Glibc
package import WakeModel
import WakeSystem

/// The master keys of both generations, whose files are named by their numbers.
///
/// 120 bytes, little-endian:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `RVLLKEYS` |
/// | 8 | 1 | version, 1 |
/// | 9 | 7 | zeros |
/// | 16 | 8 | number of the current generation, counted from 1 |
/// | 24 | 32 | master key of the current generation |
/// | 56 | 32 | master key of the previous generation |
/// | 88 | 32 | BLAKE2b-256 of the 88 bytes before |
///
/// A rotation first makes the next generation's empty file, then replaces this one by rename, and
/// then removes the file of the generation whose master is gone; a start removes every file of a
/// generation that is not named here. With `keys = memory` there is no key file.
package struct KeyFile: Sendable {
    package static let byteCount = 120

    package let generation: UInt64
    package let current: KeyMemory
    package let previous: KeyMemory

    /// Two new random masters.
    static func random(generation: UInt64 = 1) -> KeyFile {
        KeyFile(
            generation: generation, current: .random(32), previous: .random(32))
    }

    /// Numbers of the previous generation and of the current one.
    var generations: [UInt64] { [generation - 1, generation] }

    /// The keys after a rotation: current becomes previous; the former previous master is gone.
    func rotated() -> KeyFile {
        KeyFile(
            generation: generation + 1, current: .random(32), previous: current)
    }
}

// MARK: Bytes

extension KeyFile {
    init(decoding bytes: [UInt8]) throws(StoreOpenError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark),
            bytes[8] == 1, bytes[9..<16].allSatisfy({ $0 == 0 })
        else { throw .keyFileDamaged }
        let span = bytes.span
        let checksum = Blake2b.hash(span.extracting(0..<88))
        guard checksum == Array(bytes[88...]) else { throw .keyFileDamaged }
        generation = span.littleEndian(at: 16)
        guard generation > 0 else { throw .keyFileDamaged }
        current = KeyMemory(span.extracting(24..<56))
        previous = KeyMemory(span.extracting(56..<88))
    }

    /// The bytes of the file; the caller wipes them.
    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes += Self.mark
        bytes += [1, 0, 0, 0, 0, 0, 0, 0]
        bytes.append(littleEndian: generation)
        for master in [current, previous] { master.withSpan { bytes.append(span: $0) } }
        bytes += Blake2b.hash(bytes.span)
        return bytes
    }

    private static let mark = Array("RVLLKEYS".utf8)
}

// MARK: On disk

extension KeyFile {
    static func read(_ configuration: StoreConfiguration) throws(StoreOpenError) -> KeyFile {
        // A number of this start alone: records about an earlier generation must not apply to it.
        guard let path = configuration.keyFile
        else { return random(generation: .random(in: 1 << 32..<1 << 53)) }
        var bytes = try mapError(StoreOpenError.keyFile, Files.readSecret(path, limit: byteCount))
        defer { bytes.wipe() }
        try checkDirectory(configuration)
        return try KeyFile(decoding: bytes)
    }

    /// Writes a file that must not exist yet, mode 0600.
    func create(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile else { return }
        var bytes = encode()
        defer { bytes.wipe() }
        try mapError({ StoreOpenError(.keyFile, $0) }, Files.create(path, with: bytes.span))
    }

    /// A copy of the data directory must not carry the keys with it.
    static func checkDirectory(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile else { return }
        let directory = try mapError(
            { StoreOpenError(.dataDirectory, $0) }, Files.resolve(configuration.dataDirectory))
        let keyDirectory = try mapError(
            { StoreOpenError(.keyFile, $0) }, Files.resolve(Files.parent(of: path) ?? "."))
        guard keyDirectory != directory, !keyDirectory.hasPrefix(directory + "/")
        else { throw .keyFileInsideData }
    }

    enum Replacement: Equatable {
        /// The new keys are on the disk, the old ones nowhere.
        case done
        /// The old file is unchanged: errno.
        case refused(Int32)
        /// The new file has the name, but whether it keeps it over a power cut is unknown.
        case unknown

        var isOutOfRoom: Bool { self == .refused(ENOSPC) || self == .refused(EDQUOT) }
    }

    /// Replaces the file by rename and overwrites what the old one left on the disk.
    /// - Parameter giveRoom: on a full disk, allocates room for the new file.
    func replace(
        _ configuration: StoreConfiguration, onFullDisk giveRoom: (OpenFile) -> Void
    ) -> Replacement {
        guard let path = configuration.keyFile else { return .done }
        var bytes = encode()
        defer { bytes.wipe() }
        do throws(FileError) {
            let old = try Self.openOld(path)
            try Files.replace(path, with: bytes.span, onFullDisk: giveRoom)
            if let old { Self.destroy(old) }
            return .done
        } catch { return error.call == .syncDirectory ? .unknown : .refused(error.number) }
    }

    /// - Returns: nil for a file that somebody removed: its keys are in memory alone.
    private static func openOld(_ path: String) throws(FileError) -> OpenFile? {
        do throws(FileError) {
            return try OpenFile(path, flags: O_WRONLY)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }

    /// Removes what a crash left of a replacement: a file with keys that were never used.
    static func removeRemnant(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile.map({ $0 + ".tmp" }), Files.exists(path)
        else { return }
        try mapError({ StoreOpenError(.keyFile, $0) }) { () throws(FileError) in
            destroy(try OpenFile(path, flags: O_WRONLY))
            try Files.remove(path)
            try Files.synchronizeDirectory(of: path)
        }
    }

    /// The name may be gone already; on file systems that write in place the bytes go as well.
    private static func destroy(_ file: OpenFile) {
        let zeros = [UInt8](repeating: 0, count: byteCount)
        try? file.write(zeros.span, at: 0)
        try? file.synchronize()
    }
}
