import WakeSystem

/// Mode, owner and kind of the file, and of everything that lies beside it.
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
    var log: String { file + "-wal" }
    var logSize: Int { (try? FileStatus(of: log))?.size ?? 0 }

    func run(_ findings: inout AuditFindings) throws(AuditFailure) {
        findings.note(.fileIsLink, if: isLink)
        do throws(FileError) {
            let owner = try FileStatus(of: directory)
            // A bit that lets others put files in is enough to lead the service astray.
            findings.note(.openDirectory, if: owner.mode & 0o022 != 0)
            let status = try FileStatus(of: file)
            findings.note(.fileMode, if: status.mode != policy.fileMode)
            findings.note(.fileOwner, if: status.owner != owner.owner)
            for sibling in try Files.names(in: directory) where sibling != name {
                check(sibling, try FileStatus(of: directory + "/" + sibling), owner, &findings)
            }
        } catch { throw .file(error) }
    }

    private func check(
        _ sibling: String, _ status: FileStatus, _ directory: FileStatus,
        _ findings: inout AuditFindings
    ) {
        if sibling == name + "-journal" { return findings.note(.journal) }
        if sibling == name + "-wal" {
            findings.note(.logNotEmpty, if: status.size > 0)
        } else if !policy.siblings.contains(where: { sibling == $0 || sibling == $0 + ".tmp" }) {
            // Neither a file of the service's state nor one that awaits its rename.
            return findings.note(.strayFile)
        }
        guard status.isRegular else { return findings.note(.siblingKind) }
        findings.note(.siblingMode, if: status.mode != policy.fileMode)
        findings.note(.siblingOwner, if: status.owner != directory.owner)
    }
}
