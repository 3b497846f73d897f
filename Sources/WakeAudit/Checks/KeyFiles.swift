import WakeModel
import WakeSystem

/// Mode, owner, kind and form of key files: of the one that opens rows, and where a directory is
/// given, of every file in it.
struct KeyFiles {
    let policy: AuditPolicy
    /// A copy of it must not carry the keys along.
    let dataDirectory: String

    /// Longest key file, bytes.
    private static let limit = 1 << 16

    /// Checks the file, or all files of the directory.
    /// - Returns: what opens rows; nil when no file is of that form.
    func masters(
        at path: String, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> MasterKeys? {
        do throws(FileError) {
            guard try FileStatus(of: Files.resolve(path)).isDirectory else {
                let keys = try read(path, .named, &findings)
                findings.note(.keyFileDamaged, if: keys == nil)
                return keys
            }
            return try masters(in: Files.resolve(path), &findings)
        } catch { throw .keys(error) }
    }

    private func masters(
        in directory: String, _ findings: inout AuditFindings
    ) throws(FileError) -> MasterKeys? {
        // Who may write there may put other keys in place.
        findings.note(.keyFileMode, if: try FileStatus(of: directory).mode & 0o022 != 0)
        var found: [MasterKeys] = []
        for name in try Files.names(in: directory).sorted() {
            let path = directory + "/" + name
            // One that awaits its rename may be cut short, and be gone by now.
            let place = name.hasSuffix(".tmp") ? Place.temporary : .directory
            do throws(FileError) {
                guard try FileStatus(of: path).isRegular else {
                    findings.note(.keyFileKind)
                    continue
                }
                let keys = try read(path, place, &findings)
                if place == .directory, let keys { found.append(keys) }
            } catch {
                guard error.isMissing, place == .temporary else { throw error }
            }
        }
        // A copy would outlive the keys that a rotation destroys.
        findings.note(.keyFileTwice, if: found.count > 1)
        findings.note(.keyFileDamaged, if: found.isEmpty)
        return found.first
    }

    private enum Place {
        /// Given by itself, as the one that opens rows.
        case named
        /// Beside others, of any declared form.
        case directory, temporary
    }

    private func read(
        _ path: String, _ kind: Place, _ findings: inout AuditFindings
    ) throws(FileError) -> MasterKeys? {
        let status = try FileStatus(of: path)
        findings.note(.keyFileKind, if: !status.isRegular)
        DirectoryCheck.check(path, status, &findings)
        let directory = Files.parent(of: path) ?? "."
        if !status.isLink {
            findings.note(.keyFileMode, if: status.mode & 0o777 & ~policy.keyFileMode != 0)
            let owner = try FileStatus(of: Files.resolve(directory)).owner
            findings.note(.keyFileOwner, if: status.owner != owner)
        }
        let data = try Files.resolve(dataDirectory)
        let place = try Files.resolve(directory)
        findings.note(.keyFileBesideData, if: place == data || place.hasPrefix(data + "/"))
        var bytes = try Files.readGiven(path, limit: Self.limit)
        defer { bytes.wipe() }
        if kind != .named { findings.note(.keyFileUndeclared, if: !isDeclared(bytes, kind)) }
        guard policy.keyForms[MasterKeys.kind]?.fit(bytes) == .whole else { return nil }
        return MasterKeys(bytes)
    }

    private func isDeclared(_ bytes: [UInt8], _ kind: Place) -> Bool {
        // After a power cut the content of one that was to be renamed may be missing.
        if kind == .temporary, bytes.span.isZero { return true }
        return policy.keyForms.values.contains { form in
            switch form.fit(bytes) {
            case .whole: true
            case .beginning: kind == .temporary
            case .none: false
            }
        }
    }
}
