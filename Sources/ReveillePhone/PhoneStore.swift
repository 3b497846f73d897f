package import Foundation
import WakeFeed

/// The file that holds all of a client's state, replaced as a whole: a kill leaves the old file or
/// the new one. Each change reads the file first, under a lock: several clients of one directory,
/// in one process or in an app and its extensions, lose nothing of each other's.
///
/// The file is readable once the device was unlocked after its start, so that a push finds it, and
/// is in no backup. The instance tokens are in the Keychain, where there is one.
struct PhoneStore: Sendable {
    /// Where instance tokens are, by their services' URLs, if not in the file.
    let vault: (any TokenVault)?
    private let directory: URL
    private let key: FeedKey
    private let service: URL?
    private let now: @Sendable () -> Double

    private var file: URL { directory.appendingPathComponent("state") }

    init(
        _ configuration: PhoneConfiguration, key: FeedKey, vault: (any TokenVault)?,
        now: @escaping @Sendable () -> Double
    ) {
        directory = configuration.stateDirectory
        service = configuration.service
        self.key = key
        self.vault = vault
        self.now = now
    }

    /// The state as it is.
    func state() throws(PhoneError) -> PhoneState { try update { $0 } }

    /// Changes the state; when this returns the change is durable.
    func update<Value>(_ change: (inout PhoneState) -> Value) throws(PhoneError) -> Value {
        do {
            let lock = try lock()
            // Closing gives it back.
            defer { try? lock.close() }
            var (state, saved) = try load()
            let result = change(&state)
            if state != saved { try save(state, after: saved) }
            return result
        } catch let error as PhoneError {
            throw error
        } catch { throw Self.fault(error) }
    }

    /// Keeps the half of a proof that two histories were shown.
    func keep(evidence bytes: [UInt8], as name: String) {
        try? replace(directory.appendingPathComponent("evidence-" + name), with: Data(bytes))
    }

    private func lock() throws -> FileHandle {
        let path = directory.appendingPathComponent("lock")
        if !FileManager.default.fileExists(atPath: path.path) { try prepare(path) }
        let lock = try FileHandle(forUpdating: path)
        while flock(lock.fileDescriptor, LOCK_EX) != 0, errno == EINTR {}
        return lock
    }

    private func prepare(_ lock: URL) throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        #if canImport(Darwin)
            var directory = self.directory
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try directory.setResourceValues(values)
        #endif
        try Data().write(to: lock, options: Self.protection)
    }

    /// - Returns: the state under the present configuration, and as it is in the file.
    private func load() throws -> (PhoneState, saved: PhoneState?) {
        let now = now()
        var (state, isReset) = try read()
        let saved = state
        if let vault {
            let tokens = try vault.load()
            if state == nil, !tokens.isEmpty {
                state = PhoneState(key: key, isReset: isReset, now: Int64(now))
                state?.takeBack(tokens, isNew: true, now: now)
            } else {
                state?.takeBack(tokens, isNew: false, now: now)
            }
        }
        var next = state ?? PhoneState(key: key, isReset: isReset, now: Int64(now))
        next.configure(key: key, service: service, now: now)
        return (next, saved == nil ? nil : state)
    }

    private func read() throws -> (PhoneState?, isReset: Bool) {
        let data: Data
        do { data = try Data(contentsOf: file) } catch {
            // Only what is not there counts as new: a file that cannot be read now comes back.
            guard Self.isMissing(error) else { throw error }
            return (nil, false)
        }
        struct Version: Decodable { let version: Int }
        let version = try? JSONDecoder().decode(Version.self, from: data).version
        guard version ?? 0 <= PhoneState.currentVersion else {
            throw PhoneError.state(.otherVersion)
        }
        if let state = try? JSONDecoder().decode(PhoneState.self, from: data) {
            return (state, false)
        }
        // Put aside: all that is retained is checked again.
        let aside = directory.appendingPathComponent("state.damaged-\(Int64(now()))")
        try? FileManager.default.moveItem(at: file, to: aside)
        return (nil, true)
    }

    private func save(_ state: PhoneState, after saved: PhoneState?) throws {
        var state = state
        guard let vault else { return try replace(file, with: JSONEncoder().encode(state)) }
        var former = saved
        let (new, old) = (state.handOverTokens(), former?.handOverTokens() ?? [:])
        // A token is there before it is used, and until its erasure is on the disk.
        let all = old.merging(new) { $1 }
        if all != old { try vault.save(all) }
        try replace(file, with: JSONEncoder().encode(state))
        if new != all { try vault.save(new) }
    }

    #if canImport(Darwin)
        private static let protection: Data.WritingOptions =
            .completeFileProtectionUntilFirstUserAuthentication
    #else
        private static let protection: Data.WritingOptions = []
    #endif

    /// Temporary file, fsync, rename, fsync of the directory.
    private func replace(_ file: URL, with data: Data) throws {
        let temporary = file.appendingPathExtension("tmp")
        do {
            try data.write(to: temporary, options: Self.protection)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: temporary.path)
            let handle = try FileHandle(forUpdating: temporary)
            try handle.synchronize()
            try handle.close()
            guard unsafe rename(temporary.path, file.path) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        } catch {
            try? FileManager.default.removeItem(at: temporary)
            throw error
        }
        let handle = try FileHandle(forReadingFrom: directory)
        try handle.synchronize()
        try handle.close()
    }

    private static func isMissing(_ error: any Error) -> Bool {
        [.fileNoSuchFile, .fileReadNoSuchFile].contains((error as? CocoaError)?.code)
    }

    private static func fault(_ error: any Error) -> PhoneError {
        if (error as? CocoaError)?.code == .fileWriteOutOfSpace { return .diskFull }
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        for error in [error as NSError, underlying].compactMap({ $0 })
        where error.domain == NSPOSIXErrorDomain {
            if error.code == ENOSPC || error.code == EDQUOT { return .diskFull }
        }
        return .state(.unusable)
    }
}

/// A place for instance tokens that no backup and no other app reads.
package protocol TokenVault: Sendable {
    /// By the services' URLs; empty when there are none.
    func load() throws(PhoneError) -> [String: Data]
    /// Replaces all; durable when it returns.
    func save(_ tokens: [String: Data]) throws(PhoneError)
}

#if canImport(Security)
    import Security

    /// One item of the Keychain: for this app on this device, readable once the device was unlocked
    /// after its start. It outlives the app: after a reinstallation the former registration is
    /// found here, and erased first.
    struct KeychainVault: TokenVault {
        private var item: [CFString: Any] {
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "reveille",
                kSecAttrAccount: "instance-tokens", kSecAttrSynchronizable: false,
            ]
        }

        func load() throws(PhoneError) -> [String: Data] {
            var query = item
            query[kSecReturnData] = true
            var found: CFTypeRef?
            switch unsafe SecItemCopyMatching(query as CFDictionary, &found) {
            case errSecSuccess:
                guard let data = found as? Data,
                    let tokens = try? JSONDecoder().decode([String: Data].self, from: data)
                else { throw .state(.keychain) }
                return tokens
            case errSecItemNotFound: return [:]
            default: throw .state(.keychain)
            }
        }

        func save(_ tokens: [String: Data]) throws(PhoneError) {
            guard !tokens.isEmpty, let data = try? JSONEncoder().encode(tokens) else {
                let status = SecItemDelete(item as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else {
                    throw .state(.keychain)
                }
                return
            }
            let values: [CFString: Any] = [
                kSecValueData: data,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(item as CFDictionary, values as CFDictionary)
            if status == errSecItemNotFound {
                let new = item.merging(values) { $1 } as CFDictionary
                status = unsafe SecItemAdd(new, nil)
            }
            guard status == errSecSuccess else { throw .state(.keychain) }
        }
    }
#endif
