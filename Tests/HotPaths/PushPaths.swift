import WakeModel
import WakePush
import WakeSystem

/// Pushes on one HTTP/2 connection, and answers as a push service sends them.
enum PushPaths {
    private static let count = 1000

    static var all: [HotPath] {
        get throws { [try connection(), answers()] }
    }

    /// Encodes that many requests, and settles as many answers of status 200.
    private static func connection() throws -> HotPath {
        guard let endpoint = GatewayEndpoint.apns(.apns) else { throw WrongResult() }
        let template = APNsRequest(
            endpoint, topic: "org.example.app", now: 1_800_000_000, lifetime: 7200
        ).template(authorization: Array(("bearer " + String(repeating: "a", count: 200)).utf8))
        let tokens = (0..<count).map { Hex.encode(FixedBytes.make(32, seed: UInt64($0)).span) }
        var settings: [UInt8] = []
        FrameWriter.settings([(0x3, UInt32(count)), (0x4, 1 << 20)], into: &settings)
        FrameWriter.windowUpdate(stream: 0, increment: 1 << 24, into: &settings)
        return HotPath(name: "push", count: count) {
            var connection = PushConnection(template, now: 0)
            connection.receive(settings, count: settings.count, now: 0)
            var (stream, next, accepted) = (UInt32(1), 0, 0)
            while accepted < count {
                let pushed = min(connection.room, count - next)
                guard pushed > 0 else { throw WrongResult() }
                for _ in 0..<pushed {
                    let token = tokens[next]
                    connection.push(UInt64(next), token: token.span)
                    next += 1
                }
                connection.didSend(connection.outputCount)
                var answers: [UInt8] = []
                for _ in 0..<pushed {
                    FrameWriter.head(length: 1, kind: 1, flags: 0x5, stream: stream, into: &answers)
                    answers.append(0x88)
                    stream += 2
                }
                connection.receive(answers, count: answers.count, now: 0)
                var outcomes = PushOutcomes()
                connection.takeOutcomes(into: &outcomes)
                accepted += outcomes.results.count
            }
        }
    }

    /// Header blocks with a status and the identifier that APNs gives to each push.
    private static func answers() -> HotPath {
        let blocks = (0..<count).map { number in
            var block: [UInt8] = [0x88]
            HPACKWriter.literal(
                name: Array("apns-id".utf8),
                value: Hex.encode(FixedBytes.make(16, seed: UInt64(number)).span),
                .without, into: &block)
            return block
        }
        return HotPath(name: "push-answer-decode", count: count) {
            var decoder = HPACKDecoder()
            var list = HeaderList()
            for block in blocks {
                try decoder.decode(block.span, into: &list)
                guard list.count == 2 else { throw WrongResult() }
            }
        }
    }
}
