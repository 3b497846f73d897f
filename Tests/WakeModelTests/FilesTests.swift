import Glibc
import TestSupport
import Testing
import WakeSystem

@Suite("Files and databases")
struct FilesTests {
    private func array(_ bytes: [UInt8]) -> [UInt8] { bytes }

    @Test("replacing leaves the old file or the new one, with the mode asked for")
    func replace() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try Files.replace(path, with: array([1, 2, 3]).span, mode: 0o600)
        try Files.replace(path, with: array([4]).span, mode: 0o600)
        #expect(try Files.read(path, limit: 10) == [4])
        #expect(try FileStatus(of: path).isPrivate)
        #expect(try Files.names(in: directory.path) == ["file"])
    }

    @Test("a file longer than the limit is refused, one as long is read")
    func limit() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try Files.create(path, with: array([1, 2, 3]).span)
        #expect(try Files.read(path, limit: 3) == [1, 2, 3])
        #expect(throws: FileError(.read, EFBIG)) { try Files.read(path, limit: 2) }
        #expect(throws: FileError(.open, EEXIST)) { try Files.create(path, with: array([1]).span) }
    }

    @Test("what the user names may be a link or a pipe, with the same limit")
    func given() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try Files.create(path, with: array([1, 2, 3]).span)
        let link = directory.path + "/link"
        #expect(unsafe symlink(path, link) == 0)
        #expect(try Files.readGiven(link, limit: 3) == [1, 2, 3])
        #expect(throws: FileError(.read, EFBIG)) { try Files.readGiven(link, limit: 2) }
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        #expect(unsafe write(ends[1], [UInt8(7)], 1) == 1)
        close(ends[1])
        #expect(try Files.readGiven("/dev/fd/\(ends[0])", limit: 3) == [7])
        close(ends[0])
    }

    @Test("a secret is this user's alone, or root's that nobody else can change")
    func secret() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/secret"
        try Files.create(path, with: array([1, 2, 3]).span)
        let link = directory.path + "/link"
        #expect(unsafe symlink("secret", link) == 0)
        #expect(try Files.readSecret(link, limit: 8) == [1, 2, 3])
        #expect(try Files.readSecret(link, limit: 1) == [1, 2], "one more than a key has")
        for mode in [0o644, 0o640, 0o604, 0o660, 0o602, 0o444] as [mode_t] {
            #expect(unsafe chmod(path, mode) == 0)
            #expect(throws: SecretFileError.notPrivate(mode: mode)) {
                try Files.readSecret(path, limit: 8)
            }
        }
        #expect(throws: SecretFileError.notRegular) {
            try Files.readSecret(directory.path, limit: 8)
        }
        // As it is handed out: to root itself with no bit for writing.
        guard geteuid() == 0 else {
            #expect(try Files.readSecret("/etc/passwd", limit: 8).count == 9)
            return
        }
        #expect(unsafe chmod(path, 0o440) == 0)
        #expect(try Files.readSecret(path, limit: 8) == [1, 2, 3])
        #expect(unsafe chown(path, 65_534, 65_534) == 0)
        #expect(throws: SecretFileError.foreign) { try Files.readSecret(path, limit: 8) }
    }

    @Test("what an orchestrator gave the group is taken back, and nothing else is touched")
    func group() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try Files.create(path, with: array([1]).span)
        for (mode, wanted) in [
            (0o660, 0o600), (0o2770, 0o700), (0o640, 0o640), (0o644, 0o644), (0o666, 0o666),
            (0o400, 0o400),
        ] as [(mode_t, mode_t)] {
            #expect(unsafe chmod(path, mode) == 0)
            let isSeen = try Files.$overlooksGroup.withValue(true) {
                try FileStatus(of: path).isPrivate
            }
            #expect(isSeen == (wanted & 0o077 == 0), "\(mode)")
            Files.closeToGroup(path)
            #expect(try FileStatus(of: path).mode == wanted)
        }
    }

    @Test("a pipe in a file's place is an error and no wait", .timeLimit(.minutes(1)))
    func fifo() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/fifo"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        #expect(throws: FileError(.read, ESPIPE)) { try Files.read(path, limit: 3) }
        let link = directory.path + "/link"
        #expect(unsafe symlink(path, link) == 0)
        #expect(throws: FileError(.read, EINVAL)) { try Files.readLinked(link, limit: 3) }
        let file = directory.path + "/file"
        try Files.create(file, with: array([1, 2, 3]).span)
        let other = directory.path + "/other"
        #expect(unsafe symlink(file, other) == 0)
        #expect(try Files.readLinked(other, limit: 3) == [1, 2, 3])
        #expect(throws: FileError(.read, EFBIG)) { try Files.readLinked(other, limit: 2) }
    }

    @Test("links are not followed, open modes are seen")
    func links() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try Files.create(path, with: array([1]).span, mode: 0o644)
        #expect(try !FileStatus(of: path).isPrivate)
        let link = directory.path + "/link"
        #expect(unsafe symlink(path, link) == 0)
        #expect(throws: FileError(.open, ELOOP)) { try Files.read(link, limit: 3) }
        #expect(try FileStatus(of: link).isLink)
    }

    @Test("a second lock on one file is refused until the first is gone")
    func lock() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/lock"
        var first: OpenFile? = try OpenFile(path, flags: O_RDWR | O_CREAT)
        try first?.lockExclusively()
        let second = try OpenFile(path, flags: O_RDWR)
        let refusal = #expect(throws: FileError.self) { try second.lockExclusively() }
        #expect(refusal?.isLocked == true)
        first = nil
        try second.lockExclusively()
    }

    @Test("directories are made with those above them")
    func directories() throws {
        let directory = try TemporaryDirectory()
        try Files.makeDirectory(directory.path + "/a/b/c")
        try Files.makeDirectory(directory.path + "/a/b/c")
        #expect(try FileStatus(of: directory.path + "/a/b").mode == 0o700)
        try Files.create(directory.path + "/file", with: array([1]).span)
        #expect(throws: FileError(.makeDirectory, EEXIST)) {
            try Files.makeDirectory(directory.path + "/file")
        }
    }

    @Test("a transaction that fails leaves nothing")
    func transaction() throws {
        let directory = try TemporaryDirectory()
        let database = try Database(path: directory.path + "/db", access: .create)
        try database.execute("CREATE TABLE t(a BLOB NOT NULL)")
        let insert = try database.prepare("INSERT INTO t VALUES(?)")
        #expect(throws: SQLiteError.self) {
            try database.transaction(
                { () throws(SQLiteError) in
                    try insert.bind(1, blob: array([1, 2]).span)
                    try insert.run()
                    try insert.bindNull(1)
                    try insert.run()
                }, failure: { $0 })
        }
        #expect(!database.isInTransaction)
        #expect(try database.integer("SELECT count(*) FROM t") == 0)
        try insert.bind(1, blob: array([]).span)
        try insert.run()
        let select = try database.prepare("SELECT a, typeof(a) FROM t")
        #expect(try select.step())
        #expect(select.blob(0) == [])
        #expect(select.text(1) == "blob")
    }
}
