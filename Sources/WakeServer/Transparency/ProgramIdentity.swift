private import Glibc
package import WakeModel
package import WakeSystem

/// The running program as it names itself: an honest operator's claim, which anybody can compare
/// with what they build from the same commit. A dishonest one could have another program name it.
package struct ProgramIdentity: Sendable, Equatable {
    /// The version, and the commit where the build knew it.
    package let release: Release
    /// SHA-256 of the program's file, hexadecimal; nil until it is computed, and where the file
    /// cannot be read.
    package let hash: String?

    package init(release: Release = .current, hash: String? = nil) {
        self.release = release
        self.hash = hash
    }

    /// Whether somebody else can build the program again: from a commit, and nothing beside it.
    package var canBeRebuilt: Bool { release.commit != nil && !release.isChanged }

    /// The file of this process, also when another has been put in its place since (proc(5)).
    package static let ownFile = "/proc/self/exe"

    /// SHA-256 of a file, hexadecimal; takes as long as reading the file does.
    package static func hash(of path: String) throws(FileError) -> String {
        let file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK, followsLink: true)
        guard try file.status().isRegular else { throw FileError(.read, EINVAL) }
        var hash = SHA256Stream()
        var offset = 0
        while true {
            let bytes = try file.read(at: offset, count: 1 << 20)
            guard !bytes.isEmpty else { break }
            hash.update(bytes.span)
            offset += bytes.count
        }
        return String(decoding: Hex.encode(hash.finish().span), as: UTF8.self)
    }

    /// The `Reveille-Program` field: a dictionary of RFC 9651 with the members that are known.
    package var field: String {
        var members = ["version=\"\(Release.version)\""]
        if let commit = release.commit { members.append("commit=\"\(commit)\"") }
        if release.isChanged { members.append("changed") }
        if let hash { members.append("sha256=\"\(hash)\"") }
        return members.joined(separator: ", ")
    }

    /// One object: `version`, `changed`, and where they are known `commit` and `sha256`.
    package func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("version", string: Release.version)
        if let commit = release.commit { text.member("commit", string: commit) }
        text.member("changed", bool: release.isChanged)
        if let hash { text.member("sha256", string: hash) }
        text.endObject()
        return text.bytes
    }
}
