private import WakeFiles

extension PublishSession {
    /// Seconds a file nobody names is left alone: someone may still be reading by an older head.
    private static let graceSeconds: Int64 = 3600

    /// Removes what crashes and retention left behind, and never a file of anybody else's.
    @discardableResult
    func prune(now: Int64) throws(FeedDirectoryError) -> Int {
        let files = publisher.files
        let named = Set(
            head.suffixes.enumerated().map { index, suffix in
                FeedHead.batchName(head.firstSequence + UInt64(index), suffix)
            })
        return try FeedDirectoryError.wrap { () throws(FileError) in
            var paths = try Files.names(in: files.batches)
                .filter { !named.contains($0) && Self.isBatchName($0) }
                .map(files.batch)
            paths += [FeedFiles.temporary(files.head), FeedFiles.temporary(files.journal)]
            var removed = 0
            for path in paths where try Self.isOld(path, now: now) {
                try Files.remove(path)
                removed += 1
            }
            return removed
        }
    }

    private static func isOld(_ path: String, now: Int64) throws(FileError) -> Bool {
        do throws(FileError) {
            let status = try FileStatus(of: path)
            return status.isRegular && Int64(status.modified) < now - graceSeconds
        } catch {
            if error.isMissing { return false }
            throw error
        }
    }

    /// 20 digits, a hyphen, 16 hexadecimal digits, perhaps `.tmp`.
    private static func isBatchName(_ name: String) -> Bool {
        FeedHead.isBatchName(name.hasSuffix(".tmp") ? String(name.dropLast(4)) : name)
    }
}
