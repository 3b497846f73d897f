private import Glibc
import WakeModel
import WakeSystem

/// A generation's file: `generation-7.db`.
struct GenerationDatabase: Equatable {
    let generation: UInt64
    let path: String

    /// The write-ahead log: what is committed but not yet in the file.
    var log: String { path + "-wal" }
    var name: String { "generation-\(generation)" }

    /// - Returns: nil for any other name in the directory.
    init?(_ name: String, in directory: String) {
        guard name.hasPrefix("generation-"), name.hasSuffix(".db"),
            let generation = UInt64(name.dropFirst(11).dropLast(3))
        else { return nil }
        self.generation = generation
        path = directory + "/" + name
    }
}

/// Mode, owner, kind and links of the files of generations, of everything that lies beside them,
/// and of the directories above; and what the small files beside them hold.
struct DirectoryCheck {
    /// Links followed.
    let directory: String
    /// The older one first.
    let databases: [GenerationDatabase]
    private let names: [String]
    private let policy: AuditPolicy
    private let isLink: Bool

    init(_ path: String, _ policy: AuditPolicy) throws(AuditFailure) {
        let isDirectory: Bool
        do throws(FileError) {
            isLink = try FileStatus(of: path).isLink
            directory = try Files.resolve(path)
            isDirectory = try FileStatus(of: directory).isDirectory
            names = isDirectory ? try Files.names(in: directory).sorted() : []
        } catch { throw .file(error) }
        databases = names.compactMap { [directory] in GenerationDatabase($0, in: directory) }
            .sorted { $0.generation < $1.generation }
        guard !databases.isEmpty else { throw .notAStore }
        self.policy = policy
    }

    func isSame(_ other: DirectoryCheck) -> Bool { databases == other.databases }

    /// - Throws: `changing` when a rotation has taken one away meanwhile.
    func open() throws(AuditFailure) -> [OpenFile] {
        do throws(FileError) {
            return try databases.map { database throws(FileError) in
                try OpenFile(database.path, flags: O_RDONLY)
            }
        } catch {
            throw error.isMissing ? .changing : .file(error)
        }
    }

    /// Whether a rotation is at work, or was when the service ended, or a log holds rows that no
    /// service will copy: what the files hold by themselves says nothing then. After a kill both
    /// stay until the service has started again.
    func isUnfinished(isHeld: Bool) -> Bool {
        if names.contains(where: { $0.hasPrefix("generation-") && $0.hasSuffix(".tmp") }) {
            return true
        }
        return isHeld ? databases.count != 2 : databases.contains { isLog($0.log) }
    }

    var logsAreEmpty: Bool {
        databases.allSatisfy { (try? FileStatus(of: $0.log).size) ?? 0 == 0 }
    }

    /// Whether the log begins as one of SQLite's (sqlite.org/fileformat2.html §4.1): any other
    /// content is none that awaits its way into the file.
    private func isLog(_ log: String) -> Bool {
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

    /// - Parameter isHeld: by a service, whose logs hold what it writes now.
    func run(isHeld: Bool, _ findings: inout AuditFindings) throws(AuditFailure) {
        findings.note(.fileIsLink, if: isLink)
        let isPair =
            databases.count == 2 && databases[0].generation == databases[1].generation &- 1
        findings.note(.generations, if: !isPair)
        do throws(FileError) {
            let owner = try FileStatus(of: directory)
            // A bit that lets others put files in is enough to lead the service astray.
            findings.note(.openDirectory, if: owner.mode & 0o022 != 0)
            findings.note(.directoryMode, if: owner.mode != policy.directoryMode)
            findings.note(.openParent, if: try Files.openParent(of: directory) != nil)
            Self.checkAttributes(of: directory, &findings)
            for name in names {
                // One that is gone was to be renamed.
                guard let status = try? FileStatus(of: directory + "/" + name) else { continue }
                if GenerationDatabase(name, in: directory) != nil {
                    findings.note(.fileMode, if: status.mode != policy.fileMode)
                    findings.note(.fileOwner, if: status.owner != owner.owner)
                    Self.check(directory + "/" + name, status, &findings)
                } else {
                    try check(name, status, owner, isHeld: isHeld, &findings)
                }
            }
        } catch { throw .file(error) }
    }

    private func check(
        _ sibling: String, _ status: FileStatus, _ directory: FileStatus, isHeld: Bool,
        _ findings: inout AuditFindings
    ) throws(FileError) {
        let path = self.directory + "/" + sibling
        if databases.contains(where: { path == $0.path + "-journal" }) {
            return findings.note(.journal)
        }
        let isLog = databases.contains { path == $0.log }
        guard isLog || declared(sibling) != nil else { return findings.note(.strayFile) }
        guard status.isRegular else { return findings.note(.siblingKind) }
        findings.note(.siblingMode, if: status.mode != policy.fileMode)
        findings.note(.siblingOwner, if: status.owner != directory.owner)
        Self.check(path, status, &findings)
        if isLog { return findings.note(.logNotEmpty, if: !isHeld && status.size > 0) }
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
