private import Glibc
package import WakeSQLite
package import WakeSystem

/// The reason why a store could not be created or opened. Nothing on disk was changed.
package enum StoreOpenError: Error, Equatable, Sendable {
    package enum Part: Sendable {
        case dataDirectory
        case database
        case keyFile
        case reserve
    }

    case missing(Part)
    /// `create` never overwrites.
    case exists(Part)
    /// Readable or writable by others, or of another owner; permission bits.
    case notPrivate(Part, mode: UInt32)
    /// A symbolic link, or no regular file or directory.
    case wrongKind(Part)
    case keyFileInsideData
    /// 0 bytes, or shorter than a database header.
    case empty
    case notADatabase
    case foreignApplication(Int64)
    case newerSchema(Int64)
    /// The tables are not to the letter what this version makes.
    case schemaDiffers
    /// Wrong length, mark, version or checksum.
    case keyFileDamaged
    /// The keys do not open the rows.
    case foreignKeys
    case locked
    /// SQLite did not take a setting: its name.
    case settingRefused(StoreSetting)
    /// The same for `max_page_count`.
    case pageLimitRefused
    case readOnly
    case file(Part, FileError)
    case sqlite(SQLiteError)
    /// The writer's thread could not start: errno.
    case thread(Int32)
}

extension StoreOpenError {
    /// One line: what is wrong and what to do. Names paths of the configuration, nothing else.
    package func message(_ configuration: StoreConfiguration) -> String {
        func path(_ part: Part) -> String {
            switch part {
            case .dataDirectory: configuration.dataDirectory
            case .database: configuration.databaseFile
            case .keyFile: configuration.keyFile ?? "(in memory)"
            case .reserve: configuration.reserveFile
            }
        }
        let database = path(.database)
        switch self {
        case .missing(.keyFile):
            return "the key file \(path(.keyFile)) is missing; without it no registration can be "
                + "opened: bring it back, or start again with `reveille init`"
        case .missing(let part): return "\(path(part)) is missing; \(Self.startAgain)"
        case .exists(let part):
            return "\(path(part)) exists; nothing is overwritten: choose another place"
        case .notPrivate(let part, let mode):
            let wanted: UInt32 = part == .dataDirectory ? 0o700 : 0o600
            guard mode & 0o777 != wanted else {
                return "\(path(part)) is another user's: chown it to this one"
            }
            return "\(path(part)) has mode \(octal(mode)); "
                + "it must be this user's with mode \(octal(wanted))"
        case .wrongKind(.reserve):
            return "\(path(.reserve)) is no plain file; remove it: the service makes a new one"
        case .wrongKind(let part):
            return "\(path(part)) is a symbolic link or of the wrong kind; name the real "
                + (part == .dataDirectory ? "directory" : "file")
        case .keyFileInsideData:
            return "the key file \(path(.keyFile)) lies in the data directory; move it elsewhere"
        case .empty: return "\(database) is empty; \(Self.startAgain)"
        case .notADatabase, .schemaDiffers:
            return "\(database) is not a store of this program; name another data directory"
        case .foreignApplication(let number):
            return "\(database) belongs to another program (application_id \(number)); "
                + "name another data directory"
        case .newerSchema(let version):
            return "\(database) was written by a newer version (schema \(version)); "
                + "start that version"
        case .keyFileDamaged:
            return "the key file \(path(.keyFile)) is damaged or no key file; bring it back"
        case .foreignKeys:
            return "the keys in \(path(.keyFile)) do not open \(database); "
                + "name the key file that belongs to it"
        case .locked: return "another process has \(path(.dataDirectory)) open; stop it first"
        case .settingRefused(let setting):
            return "SQLite refused the setting \(setting.rawValue); use an unmodified SQLite"
        case .pageLimitRefused:
            return "SQLite refused the setting max_page_count; use an unmodified SQLite"
        case .readOnly: return "\(database) cannot be written; make its file system writable"
        case .file(let part, let error): return "\(path(part)): \(error.reason)"
        case .sqlite(let error) where error.isFull:
            return "\(database) has no room for what its log holds; make room on its file system"
        case .sqlite(let error): return "\(database): SQLite error \(error.code); check the disk"
        case .thread(let number):
            return "the writer's thread could not start (error \(number)); raise the limits"
        }
    }

    /// SQLite says no more than that it cannot open a file, or not for writing.
    var isOutOfDescriptors: Bool {
        switch self {
        case .file(_, let error): error.number == EMFILE || error.number == ENFILE
        case .sqlite(let error): error.isUnopenable
        case .readOnly: true
        default: false
        }
    }

    private static let startAgain =
        "bring it back, or start again: `reveille init` in a new directory"

    private func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    init(_ error: SQLiteError) {
        if error.isReadOnly {
            self = .readOnly
        } else if error.isBusy {
            self = .locked
        } else if error.isCorrupt {
            self = .notADatabase
        } else {
            self = .sqlite(error)
        }
    }

    init(_ part: Part, _ error: FileError) {
        if error.isMissing {
            self = .missing(part)
        } else if error.exists {
            self = .exists(part)
        } else if error.isLocked {
            self = .locked
        } else {
            self = .file(part, error)
        }
    }
}

extension StoreOpenError.Part {
    /// Refuses what other users could read or replace.
    func checkPrivate(at path: String) throws(StoreOpenError) {
        let status = try mapError({ StoreOpenError(self, $0) }, FileStatus(of: path))
        let isRightKind = self == .dataDirectory ? status.isDirectory : status.isRegular
        guard isRightKind else { throw .wrongKind(self) }
        guard status.isPrivate || (self == .keyFile && isCredential(status))
        else { throw .notPrivate(self, mode: UInt32(status.mode)) }
    }

    /// A systemd credential is root's; the mask of its access list shows as the group's bits
    /// (systemd.exec(5), "Credentials").
    private func isCredential(_ status: FileStatus) -> Bool {
        status.owner == 0 && status.mode & 0o037 == 0
    }
}
