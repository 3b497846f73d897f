private import Glibc
import WakeModel
import WakeSystem

/// Mode, owner, kind and links of the file, of everything that lies beside it, and of the
/// directories above; and what the small files beside it hold.
struct DirectoryCheck {
    /// The file itself, links followed.
    let file: String
    let directory: String
    private let policy: AuditPolicy
    private let isLink: Bool

    init(_ path: String, _ policy: AuditPolicy) throws(AuditFailure) {
        let isFile: Bool
        do throws(FileError) {
            isLink = try FileStatus(of: path).isLink
            file = try Files.resolve(path)
            isFile = try FileStatus(of: file).isRegular
        } catch { throw .file(error) }
        guard isFile else { throw .notAFile }
        directory = Files.parent(of: file) ?? "."
        self.policy = policy
    }

    private var name: Substring {
        file[(file.lastIndex(of: "/").map(file.index(after:)) ?? file.startIndex)...]
    }

    /// The write-ahead log: what is committed but not yet in the file.
    private var log: String { file + "-wal" }

    /// Whether a log holds rows, or the file is being rewritten: what the file holds by itself
    /// says nothing then. After a kill both stay until the service has started again.
    func isBusy(isHeld: Bool) -> Bool {
        if policy.rewriteFiles.contains(where: { Files.exists(file + $0) }) { return true }
        guard (try? FileStatus(of: log).size) ?? 0 > 0 else { return false }
        return isHeld || isLog
    }

    /// Whether the log begins as one of SQLite's (sqlite.org/fileformat2.html §4.1): any other
    /// content is none that awaits its way into the file.
    private var isLog: Bool {
        guard let bytes = try? OpenFile(log, flags: O_RDONLY).read(at: 0, count: 32),
            bytes.count == 32, bytes.span.number32(at: 0) & ~1 == 0x377F_0682,
            bytes.span.number32(at: 4) == 3_007_000,
            Int(bytes.span.number32(at: 8)) == policy.pageSize
        else { return false }
        let isBigEndian = bytes[3] & 1 == 1
        var (first, second) = (UInt32(0), UInt32(0))
        for place in stride(from: 0, to: 24, by: 8) {
            let words = [place, place + 4].map {
                let word = bytes.span.number32(at: $0)
                return isBigEndian ? word : word.byteSwapped
            }
            first &+= words[0] &+ second
            second &+= words[1] &+ first
        }
        return bytes.span.number32(at: 24) == first && bytes.span.number32(at: 28) == second
    }

    func run(_ findings: inout AuditFindings) throws(AuditFailure) {
        findings.note(.fileIsLink, if: isLink)
        do throws(FileError) {
            let owner = try FileStatus(of: directory)
            // A bit that lets others put files in is enough to lead the service astray.
            findings.note(.openDirectory, if: owner.mode & 0o022 != 0)
            findings.note(.directoryMode, if: owner.mode != policy.directoryMode)
            findings.note(.openParent, if: try Files.openParent(of: directory) != nil)
            Self.checkAttributes(of: directory, &findings)
            let status = try FileStatus(of: file)
            findings.note(.fileMode, if: status.mode != policy.fileMode)
            findings.note(.fileOwner, if: status.owner != owner.owner)
            Self.check(file, status, &findings)
            for sibling in try Files.names(in: directory) where sibling != name {
                // One that is gone was to be renamed.
                guard let status = try? FileStatus(of: directory + "/" + sibling) else { continue }
                try check(sibling, status, owner, &findings)
            }
        } catch { throw .file(error) }
    }

    private func check(
        _ sibling: String, _ status: FileStatus, _ directory: FileStatus,
        _ findings: inout AuditFindings
    ) throws(FileError) {
        if sibling == name + "-journal" { return findings.note(.journal) }
        if policy.rewriteFiles.contains(where: { sibling == name + $0 }) { return }
        let isLog = sibling == name + "-wal"
        guard isLog || declared(sibling) != nil else { return findings.note(.strayFile) }
        guard status.isRegular else { return findings.note(.siblingKind) }
        findings.note(.siblingMode, if: status.mode != policy.fileMode)
        findings.note(.siblingOwner, if: status.owner != directory.owner)
        let path = self.directory + "/" + sibling
        Self.check(path, status, &findings)
        if isLog { return findings.note(.logNotEmpty, if: status.size > 0) }
        guard let (form, isWhole) = declared(sibling) else { return }
        try StateFileCheck(form: form, isWhole: isWhole).run(path, &findings)
    }

    /// The form of a file of the service's state, or of one that awaits its rename and may be cut
    /// short; nil for any other.
    private func declared(_ sibling: String) -> (form: StateForm, isWhole: Bool)? {
        if let form = policy.forms[sibling] { return (form, true) }
        guard sibling.hasSuffix(".tmp"), let form = policy.forms[String(sibling.dropLast(4))],
            !form.isZeros
        else { return nil }
        return (form, false)
    }

    /// One name, and nothing attached to it.
    static func check(_ path: String, _ status: FileStatus, _ findings: inout AuditFindings) {
        findings.note(.hardLink, if: status.links > 1)
        checkAttributes(of: path, &findings)
    }

    private static func checkAttributes(of path: String, _ findings: inout AuditFindings) {
        let names = (try? Files.attributes(of: path)) ?? []
        findings.note(.attribute, count: names.count { !systemAttributes.contains($0) })
    }

    /// Labels that the kernel gives every file by itself (xattr(7)).
    private static let systemAttributes: Set = [
        "security.selinux", "security.SMACK64", "security.ima", "security.evm",
        "security.apparmor", "system.nfs4_acl",
    ]
}

/// Holds a small file against its form. Where it differs, says what it looks like.
struct StateFileCheck {
    let form: StateForm
    /// False for one that was perhaps not written to its end.
    let isWhole: Bool

    /// Larger ones are none of the service's.
    private static let byteLimit = 1 << 26
    /// Printable characters in a row that numbers and marks do not give.
    private static let longestText = 15

    func run(_ path: String, _ findings: inout AuditFindings) throws(FileError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try OpenFile(path, flags: O_RDONLY).read(at: 0, count: Self.byteLimit)
        } catch {
            // Renamed or removed since its directory was read: the service does both.
            guard error.isMissing else { throw error }
            return
        }
        switch form.fit(bytes) {
        case .whole: return
        case .beginning where !isWhole: return
        // After a power cut its content may be missing.
        case _ where !isWhole && bytes.span.isZero: return
        default: findings.note(.stateForm)
        }
        for line in bytes.split(whereSeparator: { !(0x20...0x7E).contains($0) }) {
            findings.note(.stateText, if: !form.isText && line.count > Self.longestText)
            findings.note(.stateToken, if: LeakSearch.holdsPushToken(line))
            findings.note(.keysBesideData, if: line.suffix(8).elementsEqual(MasterKeys.mark))
        }
    }
}
