import WakeFiles
import WakeModel
import WakeSodium

/// The key file as the service writes it: 120 bytes, little-endian.
///
/// `RVLLKEYS`, version 1, the table of the current generation, six zeros, the generation's number
/// (8), the master of the current generation (32), of the previous one (32), and BLAKE2b-256 of
/// all that. Written down here a second time on purpose: an auditor does not trust the audited.
struct MasterKeys {
    /// Masters by place: that of the first table of the policy, and that of the second.
    let masters: [KeyMemory]

    /// - Returns: nil when the bytes are no key file.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 120, bytes.starts(with: "RVLLKEYS".utf8), bytes[8] == 1,
            bytes[9] <= 1, bytes.span.extracting(10..<16).isZero,
            Blake2b.hash(bytes.span.extracting(0..<88)) == Array(bytes[88...])
        else { return nil }
        let current = KeyMemory(bytes.span.extracting(24..<56))
        let previous = KeyMemory(bytes.span.extracting(56..<88))
        masters = bytes[9] == 0 ? [current, previous] : [previous, current]
    }

    /// Reads and checks the file.
    /// - Parameter dataDirectory: a copy of it must not carry the keys along.
    static func read(
        _ path: String, dataDirectory: String, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> MasterKeys? {
        var bytes: [UInt8]
        do throws(FileError) {
            let status = try FileStatus(of: path)
            findings.note(.keyFileKind, if: !status.isRegular)
            let directory = Files.parent(of: path) ?? "."
            if !status.isLink {
                findings.note(.keyFileMode, if: status.mode & 0o077 != 0)
                let owner = try FileStatus(resolving: directory).owner
                findings.note(.keyFileOwner, if: status.owner != owner)
            }
            let data = try Files.resolve(dataDirectory)
            let place = try Files.resolve(directory)
            findings.note(
                .keyFileBesideData, if: place == data || place.hasPrefix(data + "/"))
            bytes = try Files.readGiven(path, limit: 4096)
        } catch {
            throw .keys(error)
        }
        defer { wipe(&bytes) }
        let keys = MasterKeys(bytes)
        findings.note(.keyFileDamaged, if: keys == nil)
        return keys
    }
}

extension FileStatus {
    /// The status of what a path leads to, links followed.
    init(resolving path: String) throws(FileError) {
        self = try FileStatus(of: try Files.resolve(path))
    }
}
