/// The lines before the first message: EXTERNAL, the kernel's word for who we are.
/// D-Bus Specification, "Authentication Protocol".
package struct BusHandshake {
    package enum Step: Equatable {
        case needMore
        /// Accepted: this is to be sent, and messages follow.
        case done(send: [UInt8])
    }

    private let guid: [UInt8]?
    private var line: [UInt8] = []

    /// - Parameter guid: what the address says of the bus's number.
    package init(guid: [UInt8]?) { self.guid = guid }

    /// What to begin with: the zero byte that may carry credentials, and the user in hexadecimal of
    /// its decimal digits. Descriptors are not agreed to.
    package static func opening(user: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let identity = String(user).utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return [0] + Array("AUTH EXTERNAL ".utf8) + identity + Array("\r\n".utf8)
    }

    /// - Throws: `.refused`, or `.noBus` for anything that is no answer to the opening.
    package mutating func feed(_ bytes: [UInt8]) throws(BusError) -> Step {
        for (index, byte) in bytes.enumerated() {
            guard line.count < BusLimits.handshakeLineBytes else { throw .noBus }
            line.append(byte)
            guard line.suffix(2).elementsEqual("\r\n".utf8) else {
                // Lines are ASCII.
                guard byte != 0, byte < 0x80 else { throw .noBus }
                continue
            }
            // Nobody speaks before BEGIN but as an answer.
            guard index == bytes.count - 1 else { throw .noBus }
            return try answer(line.dropLast(2))
        }
        return .needMore
    }

    private func answer(_ line: ArraySlice<UInt8>) throws(BusError) -> Step {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        switch words.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "OK":
            guard words.count == 2, words[1].count == 32, words[1].allSatisfy(Self.isHex) else {
                throw .noBus
            }
            if let guid, !Self.isSame(guid, words[1]) { throw .refused }
            return .done(send: Array("BEGIN\r\n".utf8))
        // EXTERNAL has no challenge: who asks for more does not take our word.
        case "REJECTED", "ERROR", "DATA": throw .refused
        default: throw .noBus
        }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    private static func isSame(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}
