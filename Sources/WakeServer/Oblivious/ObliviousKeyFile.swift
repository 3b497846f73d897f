package import WakeFetch
import WakeModel
package import WakeSystem

/// The files of a gateway's keys, as the section `[oblivious]` names them.
package enum ObliviousKeyFile {
    /// Makes a new key in a new file, mode 0600.
    /// - Returns: the hash of its configuration, hexadecimal.
    package static func create(_ path: String) throws(FileError) -> String {
        var line = ObliviousKey.newLine()
        defer { line.wipe() }
        let text = line
        try Files.create(path, with: text.span, mode: 0o600)
        return ObliviousKey(line: text.span)?.configuration.hashText ?? ""
    }

    /// - Parameter name: of the key of the configuration that names the file.
    static func load(_ path: String, named name: String) throws(SetupError) -> ObliviousKey {
        let source = "make one with reveille keygen --kind ohttp"
        let limit = ObliviousKey.characters + 2
        var line = try mapError(
            { (error: SecretFileError) in
                SetupError("[oblivious] \(name): " + error.message(source: source))
            }, try Files.readSecret(path, limit: limit))
        defer { line.wipe() }
        guard let key = ObliviousKey(line: line.span) else {
            throw SetupError(
                "[oblivious] \(name): the file holds no key of a gateway\nhint: " + source)
        }
        guard key.configuration.ciphers.allSatisfy(\.isAvailable) else {
            throw SetupError(
                "[oblivious] \(name): the key is for AES-128-GCM, too, which needs libcrypto.so.3\n"
                    + "hint: install the package libssl3: apt-get install libssl3")
        }
        return key
    }

    /// `former-key` without `key`, or twice the same.
    static let former = SetupError(
        "[oblivious] former-key: needs a key, and another one\n"
            + "hint: name the newer key as key, and the one before as former-key")
}

extension KeyConfiguration {
    /// Its hash, hexadecimal, as the head of a feed has it.
    package var hashText: String {
        let hash = hash
        return String(decoding: Hex.encode(hash.span), as: UTF8.self)
    }
}

extension Configuration {
    /// The keys that are named, the current one first; nil when the gateway is off.
    package func obliviousKeys() throws(SetupError) -> ObliviousKeyRing? {
        guard let obliviousKey else {
            guard obliviousFormerKey == nil else { throw ObliviousKeyFile.former }
            return nil
        }
        let current = try ObliviousKeyFile.load(obliviousKey, named: "key")
        guard let obliviousFormerKey else { return ObliviousKeyRing([current]) }
        let former = try ObliviousKeyFile.load(obliviousFormerKey, named: "former-key")
        guard former.configuration != current.configuration else {
            throw ObliviousKeyFile.former
        }
        return ObliviousKeyRing([current, former])
    }

    /// What `check` says of the gateway.
    package var obliviousSummary: (line: String, problem: String?) {
        do throws(SetupError) {
            guard let ring = try obliviousKeys() else { return ("off", nil) }
            let hashes = ring.keys.map(\.configuration.hashText)
            let former = hashes.count > 1 ? "; former key \(hashes[1])" : ""
            let upstream = obliviousUpstream.map { "; what is inside goes to \($0.text)" } ?? ""
            return ("on, key \(hashes[0])\(former)\(upstream)", nil)
        } catch { return (obliviousKey ?? "off", error.message) }
    }
}
