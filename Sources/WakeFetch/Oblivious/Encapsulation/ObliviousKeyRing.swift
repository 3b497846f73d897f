private import Synchronization
import WakeModel
import WakeSystem

/// The keys of a gateway: the current one, and during an overlap the one before.
package struct ObliviousKeyRing: Sendable {
    /// The current one first.
    package let keys: [ObliviousKey]

    package init(_ keys: [ObliviousKey]) {
        precondition(!keys.isEmpty)
        self.keys = keys
    }

    /// `application/ohttp-keys`, the current key first.
    package var configurations: [UInt8] { KeyConfiguration.encode(keys.map(\.configuration)) }

    /// A request whose encapsulation was removed.
    package struct Opened: Sendable {
        /// A binary request (RFC 9292), if the client is honest.
        package let message: OpenedMessage
        package let response: ResponseProtection
    }

    /// The reason why a request cannot be opened, which is all that is said about it.
    package enum Failure: Error, Sendable, Equatable {
        /// Shorter than any encapsulated request.
        case malformed
        /// Of a key or a suite that is not offered, or altered on the way: nobody can tell.
        case key
    }

    /// Removes the encapsulation of a request (RFC 9458 §4.3).
    package func open(_ request: Span<UInt8>) -> Result<Opened, Failure> {
        guard request.count >= ObliviousRequest.overhead else { return .failure(.malformed) }
        let id = request[0]
        guard request.bigEndian(at: 1, as: UInt16.self) == HPKEContext.kem,
            request.bigEndian(at: 3, as: UInt16.self) == HPKEContext.kdf,
            let cipher = HPKECipher(rawValue: request.bigEndian(at: 5))
        else { return .failure(.key) }
        let start = EncapsulationHeader.byteCount
        let end = start + HPKEContext.keyBytes
        let encapsulated = request.extracting(start..<end).array
        let header = EncapsulationHeader(key: id, cipher: cipher)
        for key in keys
        where key.configuration.id == id && key.configuration.ciphers.contains(cipher) {
            guard
                var context = HPKEContext(
                    receivedBy: key.pair, encapsulated: encapsulated, info: header.info,
                    cipher: cipher),
                let message = context.open(request.extracting(end..<request.count))
            else { continue }
            let response = ResponseProtection(context, encapsulated: encapsulated)
            return .success(Opened(message: OpenedMessage(message), response: response))
        }
        return .failure(.key)
    }
}

/// The bytes of a message whose encapsulation was removed: wiped with the last reference, which has
/// to outlive slices of them.
package final class OpenedMessage: Sendable {
    private let storage: Mutex<[UInt8]>

    init(_ bytes: consuming [UInt8]) { storage = Mutex(bytes) }

    deinit { storage.withLock { $0.wipe() } }

    /// Shared, not copied.
    package var bytes: [UInt8] { storage.withLock { $0 } }
}
