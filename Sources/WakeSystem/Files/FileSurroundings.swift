private import CLinux
private import Glibc

/// What is above a file, and attached to it.
extension Files {
    /// Names of a file's extended attributes, links not followed (xattr(7)); none where the file
    /// system has none.
    package static func attributes(of path: String) throws(FileError) -> [String] {
        // The most that there can be (limits.h, XATTR_LIST_MAX).
        var names = [CChar](repeating: 0, count: 65_536)
        let count = unsafe linux_list_attributes(path, &names, names.count)
        if count == -Int(EOPNOTSUPP) { return [] }
        guard count >= 0 else { throw FileError(.status, Int32(clamping: -count)) }
        return names[..<count].split(separator: 0).map { name in
            String(decoding: name.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// The nearest directory above a path that users other than its owner can rename things in:
    /// they could put another file in this one's place. Not one with the sticky bit, such as /tmp
    /// (path_resolution(7), unlink(2)), nor one that only the group of `path` itself can write to:
    /// with a group for each user the usual mode is 0775 (login.defs(5), USERGROUPS_ENAB).
    ///
    /// - Parameters:
    ///   - path: of something that exists; links are followed.
    ///   - isIncluded: whether it counts itself, as the directory of something that is to be made.
    package static func openParent(
        of path: String, isIncluded: Bool = false
    ) throws(FileError) -> String? {
        var path = try resolve(path)
        let group = try FileStatus(of: path).group
        if isIncluded { path += "/." }
        while let above = parent(of: path), above != path {
            let status = try FileStatus(of: above)
            let isOpen = status.mode & (status.group == group ? 0o002 : 0o022) != 0
            if isOpen, status.mode & 0o1000 == 0 { return above }
            path = above
        }
        return nil
    }

    /// Whether files can be made in a directory (faccessat(2)).
    package static func checkWritable(_ directory: String) throws(FileError) {
        guard unsafe faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0
        else { throw FileError(.status) }
    }

    /// The path with every link above its last part resolved; as it is where nothing is above.
    package static func resolvingParents(of path: String) -> String {
        guard let above = parent(of: path), let resolved = try? resolve(above) else { return path }
        let name = path.split(separator: "/").last ?? ""
        return resolved == "/" ? "/" + name : resolved + "/" + name
    }
}
