package import Foundation
import WakeBytes
import WakeCrypto

/// Work that a service asks of new registrations while many come.
package struct PhoneChallenge: Codable, Sendable, Equatable {
    private let expires: Double
    private let text: String
    private let bits: Int
    private let token: Data

    /// - Parameters:
    ///   - body: of an answer 429.
    ///   - token: the instance token that asked.
    ///   - now: seconds since 1970.
    /// - Returns: nil when the service asks for no work, or for more than a minute's.
    package init?(problem body: Data, token: Data, now: Double) {
        guard let problem = try? JSONDecoder().decode(Problem.self, from: body),
            problem.code == "proof_needed", problem.challenge.utf8.count == 32,
            (1...26).contains(problem.bits), problem.seconds > 0
        else { return nil }
        (text, bits, self.token) = (problem.challenge, problem.bits, token)
        expires = now + Double(min(problem.seconds, 3600))
    }

    private struct Problem: Decodable {
        let code: String
        let challenge: String
        let bits: Int
        let seconds: Int
    }

    /// Whether the service still takes a proof; false as well after the clock was set back.
    func isOpen(at now: Double) -> Bool { now < expires && now + 3600 >= expires }

    /// Searches, for some hundredths of a second up to a minute of one core.
    /// - Parameter isWanted: asked now and then; false ends the search without a proof.
    package func solve(while isWanted: () -> Bool = { true }) -> String? {
        let padded = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        guard let challenge = Data(base64Encoded: padded) else { return nil }
        var message = [UInt8]("reveille-proof-1".utf8) + challenge + [UInt8](repeating: 0, count: 6)
        let place = message.count - 6
        message += token
        for nonce in UInt64(0)..<1 << 34 {
            if nonce & 0xFFF == 0, !isWanted() { return nil }
            for index in 0..<6 {
                message[place + index] = UInt8(truncatingIfNeeded: nonce >> (40 - 8 * index))
            }
            if Blake2b.start(of: message.span).leadingZeroBitCount >= bits {
                return (challenge + Data(message[place..<place + 6])).base64URL
            }
        }
        return nil
    }
}
