private import Glibc
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
    case keyFile(SecretFileError)
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
    /// Whether it is about the file of the keys, not about the store's directory.
    package var isOfKeys: Bool {
        switch self {
        case .keyFile, .keyFileDamaged, .keyFileInsideData, .foreignKeys: true
        case .missing(let part), .wrongKind(let part), .file(let part, _): part == .keyFile
        default: false
        }
    }

    /// Whether it passes by itself, or with a disk, a mount or another process.
    package var mayPass: Bool {
        switch self {
        case .missing, .locked, .readOnly, .file, .sqlite, .thread, .keyFile(.file): true
        default: false
        }
    }

    /// One line: what is wrong and what to do. Names paths of the configuration, nothing else.
    package func message(_ configuration: StoreConfiguration) -> String {
        func path(_ part: Part) -> String {
            switch part {
            case .dataDirectory: configuration.dataDirectory
            case .database: configuration.dataDirectory + "/generation-*.db"
            case .keyFile: configuration.keyFile ?? "(in memory)"
            case .reserve: configuration.reserveFile
            }
        }
        let database = path(.database)
        switch self {
        case .missing(let part): return "\(path(part)) is missing; \(Self.startAgain)"
        case .exists(let part):
            return "\(path(part)) exists; nothing is overwritten: choose another place"
        case .notPrivate(let part, let mode):
            let wanted: UInt32 = part == .dataDirectory ? 0o700 : 0o600
            guard mode & 0o077 != 0 else {
                return "\(path(part)) is another user's: chown it to this one"
            }
            let kubernetes =
                mode & 0o020 != 0 ? "; on Kubernetes set fsGroupChangePolicy: OnRootMismatch" : ""
            return "\(path(part)) has mode \(octal(mode & 0o777)); it must be this user's with "
                + "mode \(octal(wanted)): `chmod \(String(wanted, radix: 8)) \(path(part))`"
                + kubernetes
        case .keyFile(let error):
            let source =
                "bring it back; without it no registration can be opened, and a new store begins "
                + "with `reveille init` in another directory"
            return "\(path(.keyFile)): "
                + error.message(source: source).replacing("\nhint: ", with: "; ")
        case .wrongKind(.reserve):
            return "\(path(.reserve)) is no plain file; remove it: the service makes a new one"
        case .wrongKind(let part):
            return "\(path(part)) is a symbolic link or of the wrong kind; name the real "
                + (part == .dataDirectory ? "directory" : "file")
        case .keyFileInsideData:
            return "the key file \(path(.keyFile)) lies in the data directory; move it elsewhere"
        case .empty: return "\(database) is empty, or zeros; \(Self.startAgain)"
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
        case .file(.dataDirectory, let error) where error.isNotPermitted:
            return "\(path(.dataDirectory)) cannot be written: `chmod 700` it, as its owner"
        case .file(let part, let error): return "\(path(part)): \(error.reason)"
        case .sqlite(let error) where error.isFull:
            return "\(database) has no room for what its log holds; make room on its file system"
        case .sqlite(let error): return "\(database): SQLite error \(error.code); check the disk"
        case .thread(let number):
            return "the writer's thread could not start (error \(number)); raise the limits"
        }
    }

    /// The disk or the quota is full.
    var isFull: Bool {
        switch self {
        case .file(_, let error): error.isFull
        case .sqlite(let error): error.isFull
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
        guard status.isPrivate else { throw .notPrivate(self, mode: UInt32(status.mode)) }
    }
}
