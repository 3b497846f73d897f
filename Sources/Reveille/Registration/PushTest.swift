package import FoundationEssentials

/// The last push that this device asked for itself.
package struct PushTest: Codable, Sendable, Equatable {
    /// A push that has not arrived by then does not count.
    static let patience = Duration.seconds(60)

    private let asked: Int64
    private let milliseconds: Int?

    init(asked: Int64, delay: Duration?) {
        self.asked = asked
        milliseconds = delay.map { Int($0 / .milliseconds(1)) }
    }

    /// When it was asked for.
    package var time: Date { Date(seconds: asked) }

    /// The seconds until it arrived; nil when it did not.
    package var seconds: Double? { milliseconds.map { Double($0) / 1000 } }
}

extension ProfileState {
    func note(_ test: PushTest) throws(ClientError) {
        try database.write { () throws(ClientError) in try database.set(.pushTest, test) }
    }
}

extension ControlSocket {
    /// The end of a test, as the running client says it.
    package enum PushTestAnswer: Codable, Sendable, Equatable {
        case arrived(seconds: Double)
        case lost
        /// `ClientError.text`.
        case failed(String)
    }
}

extension WakeClient {
    /// As ``testPush()``, for another process.
    func answerPushTest() async -> [UInt8] {
        let answer: ControlSocket.PushTestAnswer
        do throws(ClientError) {
            answer =
                try await testPush().map { .arrived(seconds: Double($0 / .milliseconds(1)) / 1000) }
                ?? .lost
        } catch { answer = .failed(error.text) }
        return (try? JSONEncoder().encode(answer)).map { Array($0) } ?? []
    }
}

extension ProfileAccess {
    /// Has the running client test pushes.
    /// - Returns: nil when no client answers.
    package func testPush() -> ControlSocket.PushTestAnswer? {
        ask(.push, seconds: 120).flatMap { answer in
            try? JSONDecoder().decode(ControlSocket.PushTestAnswer.self, from: Data(answer))
        }
    }
}
