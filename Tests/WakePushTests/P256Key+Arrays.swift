@testable import WakePush

// Spans cannot pass through the macros of tests.

extension P256Key {
    convenience init(_ half: Half, pem: [UInt8]) throws(SigningError) {
        try self.init(half, pem: pem.span)
    }

    func sign(_ message: [UInt8]) -> ECDSASignature? { sign(message.span) }

    func verifies(_ signature: ECDSASignature, of message: [UInt8]) -> Bool {
        verifies(signature, of: message.span)
    }
}

extension ECDSASignature {
    init?(der: [UInt8]) { self.init(der: der.span) }
}
