private import Glibc
package import WakeFeed
package import WakeModel
package import WakePublish
import WakeSystem

/// The directory of a witness: `key`, `identity`, `logs`, and a file of `checkpoints` for each log.
///
/// The checkpoints are the memory that makes a witness one: with an older copy of them it would
/// cosign two histories of one log. So nothing here is ever made again because it is missing.
package struct WitnessDirectory: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    var keyFile: String { path + "/key" }
    private var identityFile: StateFile<WitnessIdentity> {
        StateFile(path + "/identity", protection: .integrity)
    }
    var logsFile: StateFile<WitnessedLogs> { StateFile(path + "/logs", protection: .integrity) }
    private var checkpoints: String { path + "/checkpoints" }

    func checkpointFile(_ origin: [UInt8]) -> StateFile<CosignedCheckpoint> {
        StateFile(
            checkpoints + "/" + WitnessedLog.identifier(of: origin), protection: .integrity)
    }

    /// The first two checkpoints of one size with different roots: both with the log's signature,
    /// which proves that the log has two histories.
    func evidenceFile(_ origin: [UInt8]) -> String {
        checkpoints + "/" + WitnessedLog.identifier(of: origin) + ".fork"
    }

    /// A failure of the directory itself.
    private func fault(_ error: FileError) -> WitnessDirectoryError {
        error.isLocked ? .busy : .file(StateFileError(path, .file(error)))
    }

    // MARK: Making

    /// Makes a witness with a new key and without logs.
    /// - Throws: `.exists` when there is anything of a witness: nothing is overwritten.
    package func create(_ name: NoteKeyName) throws(WitnessDirectoryError) -> NoteKey {
        for file in [keyFile, identityFile.path, logsFile.path, checkpoints]
        where Files.exists(file) { throw .exists(file) }
        try mapError(fault) { () throws(FileError) in
            try Files.makeDirectory(path)
            try Files.makeDirectory(checkpoints)
        }
        try mapError(WitnessDirectoryError.file, try logsFile.write(WitnessedLogs()))
        let signer = NoteSigner(
            name: name,
            key: try mapError(WitnessDirectoryError.key, try FeedKeyFile.create(keyFile)))
        let key = signer.verifier(.cosignature)
        // Last: a file that is there says that all the rest is.
        try mapError(WitnessDirectoryError.file, try identityFile.write(WitnessIdentity(key: key)))
        return key
    }

    // MARK: Reading

    /// The public key, for those who ask the witness for cosignatures.
    package func publicKey() throws(WitnessDirectoryError) -> NoteKey {
        try mapError(WitnessDirectoryError.lost, try identityFile.read()).key
    }

    /// The key that signs, which must be the one of `identity`.
    func signer() throws(WitnessDirectoryError) -> NoteSigner {
        let key = try publicKey()
        let signer = NoteSigner(
            name: key.name,
            key: try mapError(WitnessDirectoryError.key, try FeedKeyFile.load(keyFile)))
        guard signer.verifier(.cosignature) == key else { throw .otherKey }
        return signer
    }

    /// Locks the key against a second witness; the lock lives as long as the object.
    func lock() throws(WitnessDirectoryError) -> OpenFile {
        do throws(FileError) {
            let file = try OpenFile(keyFile, flags: O_RDONLY)
            try file.lockExclusively()
            return file
        } catch {
            throw error.isLocked ? .running : .file(StateFileError(keyFile, .file(error)))
        }
    }

    package func logs() throws(WitnessDirectoryError) -> WitnessedLogs {
        try mapError(WitnessDirectoryError.lost, try logsFile.read())
    }

    /// The latest cosigned checkpoint of a log; one that is missing is lost, as it was made with
    /// the log.
    package func checkpoint(
        of origin: [UInt8], key: NoteKey
    ) throws(WitnessDirectoryError) -> CosignedCheckpoint {
        let file = checkpointFile(origin)
        let record = try mapError(WitnessDirectoryError.lost, try file.read())
        guard record.origin == origin, record.isCosigned(by: key) else {
            throw .lost(StateFileError(file.path, .damaged))
        }
        return record
    }

    // MARK: Logs

    /// Adds a log, or a key to one that is there; a running witness takes it up with the next
    /// request. What was cosigned of the log before holds.
    package func addLog(
        _ key: NoteKey, origin: [UInt8]
    ) throws(WitnessDirectoryError) -> WitnessedLog {
        let own = try publicKey()
        // The lock is on the directory: the file itself is replaced.
        let directory = try mapError(fault) { () throws(FileError) -> OpenFile in
            // What this user writes must be what the service can read and replace.
            guard try FileStatus(of: path).owner == geteuid() else { throw FileError(.open, EPERM) }
            let directory = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try directory.lockExclusively()
            return directory
        }
        defer { directory.unlock() }
        var list = try logs()
        try mapError(WitnessDirectoryError.log, try list.add(key, origin: origin))
        let file = checkpointFile(origin)
        if Files.exists(file.path) {
            _ = try checkpoint(of: origin, key: own)
        } else {
            try mapError(
                WitnessDirectoryError.file, try file.write(CosignedCheckpoint(origin: origin)))
        }
        try mapError(WitnessDirectoryError.file, try logsFile.write(list))
        return list.log(origin) ?? WitnessedLog(origin: origin, keys: [key])
    }
}

/// A witness's directory cannot be used.
package enum WitnessDirectoryError: Error, Equatable, Sendable {
    /// A file of a witness is there already.
    case exists(String)
    /// A file that holds what a witness must remember is missing or damaged.
    case lost(StateFileError)
    case file(StateFileError)
    case key(FeedDirectoryError)
    /// `key` is not the key that `identity` names.
    case otherKey
    /// Another process is this witness.
    case running
    /// Another command changes the list of logs.
    case busy
    case log(WitnessedLogsFault)

    /// What is wrong, in English, and behind `hint: ` what to do.
    package var message: String {
        switch self {
        case .exists(let file):
            "\(file) exists; nothing is overwritten\nhint: choose another directory"
        case .lost(let error):
            error.isNotPermitted || Self.isFileFault(error)
                ? "\(error.message)\nhint: run as the user of the witness; others must not write it"
                : "\(error.message)\nhint: a witness that forgot what it cosigned must not go on:"
                    + " make a new one with a new key (reveille witness init)"
        case .file(let error):
            error.isNotPermitted
                ? "\(error.message)\nhint: run this as the user of the witness" : error.message
        case .key(.keyFile(let error)):
            "key: " + error.message(source: "bring it back; another key is another witness")
        case .key: "the key file is damaged\nhint: make a new witness with a new key"
        case .otherKey: "the key is not the one that the file identity names"
        case .running:
            "this witness is running already\nhint: two with one key would cosign two histories"
        case .busy: "another command changes the list of logs\nhint: try again"
        case .log(.algorithm):
            "this is no Ed25519 key of a log\nhint: this program cannot verify other signatures"
        case .log(.origin): "an origin is one line of 1 to \(WitnessedLogs.originLimit) bytes"
        case .log(.tooMany): "a witness has \(WitnessedLogs.keyLimit) keys of logs at most"
        case .log(.isThere): "this key of this log is known already"
        }
    }

    private static func isFileFault(_ error: StateFileError) -> Bool {
        if case .file(let fault) = error.fault { !fault.isMissing } else { false }
    }
}
