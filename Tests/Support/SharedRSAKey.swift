private import Foundation
private import Synchronization

/// RSA keys by `openssl`, made once for all tests of a process: to find the primes of one takes a
/// tenth of a second, and no test changes them.
package enum SharedRSAKey {
    private struct Name: Hashable {
        let owner: Int
        let bits: Int
    }

    private static let made = Mutex<[Name: String]>([:])

    /// PKCS #8 in PEM.
    /// - Parameter owner: another number, another key.
    package static func pem(owner: Int = 0, bits: Int = 2048) throws -> String {
        let name = Name(owner: owner, bits: bits)
        return try made.withLock { made in
            if let pem = made[name] { return pem }
            let pem = try OpenSSLCommand.run([
                "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)",
            ])
            made[name] = pem
            return pem
        }
    }
}
