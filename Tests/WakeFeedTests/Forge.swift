import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// Signs again what a test changed, as a faulty or hostile holder of the key could.
enum Forge {
    /// - Parameter file: a head, and perhaps its proof, which is left out.
    static func head(
        _ file: [UInt8], with key: SigningKey, _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var bytes = (try? FeedHead.split(file))?.head ?? file
        change(&bytes)
        SignedLayout(magic: "WAKEHD02", domain: "wake-feed/head/2\n", count: bytes.count)
            .sign(&bytes, with: key)
        return bytes
    }

    /// Changes the header only; the payload stays as it was.
    static func batch(
        _ bytes: [UInt8], with key: SigningKey, _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var header = Array(bytes[..<256])
        change(&header)
        SignedLayout(magic: "WAKEBT01", domain: "wake-feed/batch/1\n", count: 256)
            .sign(&header, with: key)
        return header + bytes[256...]
    }

    /// A batch with another payload under a header that says so.
    static func payload(
        _ bytes: [UInt8], with key: SigningKey, _ change: (inout [UInt8]) -> Void
    ) -> [UInt8] {
        var payload = Array(bytes[256...])
        change(&payload)
        let hash = Blake2b.hash(payload.span)
        return batch(bytes[..<256] + payload, with: key) { header in
            header.put(hash, at: 96)
            header.put(littleEndian: UInt64(payload.count), at: 128)
        }
    }

    /// A head that names a forged batch in place of its newest.
    static func head(_ bytes: [UInt8], naming batch: [UInt8], with key: SigningKey) -> [UInt8] {
        let hash = HeaderHash(ofHeader: batch.span.extracting(0..<256))
        return head(bytes, with: key) { head in
            let last = Int(head.span.littleEndian(at: 24, as: UInt64.self))
            let first = Int(head.span.littleEndian(at: 32, as: UInt64.self))
            head.put(hash.bytes, at: 56)
            head.put(hash.suffix.bytes, at: 256 + (last - first) * 8)
        }
    }
}
