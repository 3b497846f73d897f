private import WakeModel
import WakeSystem

/// The authentication EXTERNAL (D-Bus Specification, "Authentication Protocol").
package struct BusAuthentication {
    private let guid: [UInt8]?
    private var line: [UInt8] = []

    /// - Parameter guid: the identity of the bus, if the address has it.
    package init(guid: [UInt8]?) { self.guid = guid }

    /// The first bytes: a zero byte, and the user's decimal digits in hexadecimal.
    package static func opening(user: UInt32) -> [UInt8] {
        let identity = Hex.encode(Array(String(user).utf8).span)
        return [0] + Array("AUTH EXTERNAL ".utf8) + identity + Array("\r\n".utf8)
    }

    /// - Returns: the bytes to send when the bus has accepted, before messages; nil until then.
    /// - Throws: `.refused`, or `.noBus` for any other bytes than an answer.
    package mutating func feed(_ bytes: [UInt8]) throws(BusError) -> [UInt8]? {
        for (index, byte) in bytes.enumerated() {
            guard line.count < BusLimits.handshakeLineBytes else { throw .noBus }
            line.append(byte)
            guard line.suffix(2).elementsEqual("\r\n".utf8) else {
                // Lines are ASCII.
                guard byte != 0, byte < 0x80 else { throw .noBus }
                continue
            }
            // Before BEGIN the bus sends answers only.
            guard index == bytes.count - 1 else { throw .noBus }
            return try answer(line.dropLast(2))
        }
        return nil
    }

    private func answer(_ line: ArraySlice<UInt8>) throws(BusError) -> [UInt8] {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        switch words.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "OK":
            guard words.count == 2, words[1].count == 32, words[1].allSatisfy(\.isHexDigit)
            else { throw .noBus }
            let identity = Array(words[1])
            if let guid, !guid.span.equalsIgnoringCase(identity.span) { throw .refused }
            return Array("BEGIN\r\n".utf8)
        // EXTERNAL has no challenge: a bus that asks for more does not accept it.
        case "REJECTED", "ERROR", "DATA": throw .refused
        default: throw .noBus
        }
    }
}
