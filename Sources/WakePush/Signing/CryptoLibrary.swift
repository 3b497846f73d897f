internal import CRuntime

/// A loaded libcrypto, for every thread.
@safe
struct CryptoLibrary: Sendable {
    let library: crt_crypto

    /// Throws `libraryMissing`. `name` is a file name for the loader; nil looks for the usual one.
    init(named name: String? = nil) throws(SigningError) {
        var library = unsafe crt_crypto(table: nil)
        let status = unsafe crt_crypto_load(name, &library)
        unsafe self.library = unsafe library
        switch status {
        case CRT_LOADED: return
        case CRT_NOT_FOUND: throw .libraryMissing(.notFound)
        case CRT_FUNCTION_MISSING: throw .libraryMissing(.functionMissing)
        default: throw .libraryMissing(.notInitialised)
        }
    }

    /// HMAC-SHA-256 (RFC 2104), 32 bytes; nil: refused, see ``OpenSSLReason``.
    func hmac(_ message: Span<UInt8>, key: Span<UInt8>) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: CRT_BLOCK_BYTES)
        let isMade = unsafe message.withUnsafeBufferPointer { message in
            unsafe key.withUnsafeBufferPointer { key in
                guard let start = message.baseAddress, let secret = key.baseAddress else {
                    return false
                }
                return unsafe crt_crypto_hmac(
                    library, secret, key.count, start, message.count, &code)
            }
        }
        return isMade ? code : nil
    }

    /// AES-128-GCM (NIST SP 800-38D): the encrypted message and a tag of 16 bytes; nil:
    /// refused.
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - nonce: 12 bytes.
    func seal(_ message: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        precondition(key.count == 16 && nonce.count == 12)
        var sealed = [UInt8](repeating: 0, count: message.count + CRT_TAG_BYTES)
        let isSealed = unsafe crt_crypto_seal(
            library, key, nonce, nil, 0, message, message.count, &sealed)
        return isSealed ? sealed : nil
    }
}

/// The reason why a key cannot sign, verify or agree.
package enum SigningError: Error, Sendable, Hashable {
    package enum LibraryFault: Sendable, Hashable {
        case notFound, functionMissing, notInitialised
    }

    case libraryMissing(LibraryFault)
    /// Malformed: not a PEM key of the half that is needed, or protected by a password; other size:
    /// RSA of fewer than 2048 bits (RFC 7518 §3.3), or of more than 8192.
    case keyMalformed, keyOfOtherKind, keyOfOtherSize
    /// The library does nothing at all with keys.
    case refused(OpenSSLReason)

    package var message: String {
        switch self {
        case .libraryMissing(.notFound):
            "cannot load libcrypto.so.3 or libcrypto.so.4\n"
                + "hint: install the package libssl3: apt-get install libssl3"
        case .libraryMissing(.functionMissing):
            "OpenSSL's libcrypto lacks a function that is needed\n"
                + "hint: install the package libssl3 3.0 or newer: apt-get install libssl3"
        case .libraryMissing(.notInitialised):
            "OpenSSL's libcrypto could not be initialised\n"
                + "hint: reinstall the package libssl3: apt-get install --reinstall libssl3"
        case .keyMalformed:
            "the key file holds no readable private key\n"
                + "hint: use the .p8 file as downloaded, unencrypted, from BEGIN to END line"
        case .keyOfOtherKind:
            "the key is not an elliptic-curve key on P-256\n"
                + "hint: use the .p8 file as downloaded from the push service"
        case .keyOfOtherSize:
            "the key has fewer than 2048 bits, or more than 8192\n"
                + "hint: use the key file as downloaded from the push service"
        case .refused(let reason):
            "OpenSSL refuses to work with keys: \(reason.text)\nhint: \(OpenSSLReason.hint)"
        }
    }
}

/// What OpenSSL said of a call that failed: texts of its own, nothing of what it was given.
package struct OpenSSLReason: Sendable, Hashable {
    package let text: String

    /// Of the call before, on the same thread.
    static var last: OpenSSLReason {
        let text = unsafe String(cString: crt_openssl_reason())
        return OpenSSLReason(text: text.isEmpty ? "no reason given" : text)
    }

    static let hint =
        "see what `openssl list -providers` shows for the user of this service: openssl.cnf must "
        + "activate `default` where it activates another provider, such as `legacy` or `fips`"
}
