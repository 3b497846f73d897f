import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("Batches for a relay and its answers")
struct RelayWireTests {
    static func token(_ number: Int, _ service: PushService = .apns) throws -> PushToken {
        switch service {
        case .apns, .apnsSandbox:
            let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8) &+ $0) }
            return try PushToken(service: service, bytes: bytes)
        case .fcm, .webPush:
            return try PushToken(service: service, bytes: Array("token:\(number)\"\\_-".utf8))
        }
    }

    private func fault(_ body: String) -> RelayBatchError? {
        do throws(RelayBatchError) {
            _ = try RelayBatch(body: Array(body.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("a batch is written as the contract says")
    func written() throws {
        let hex = String(repeating: "ab", count: 32)
        let apns = try PushToken(service: .apns, text: Array(hex.utf8).span)
        let fcm = try PushToken(service: .fcm, bytes: Array("a\"b".utf8))
        let batch = RelayBatch(lifetime: 7200, tokens: [apns, fcm])
        let text =
            #"{"lifetime":7200,"wakes":[{"service":"apns","token":"\#(hex)"},"#
            + #"{"service":"fcm","token":"a\"b"}]}"#
        #expect(String(decoding: batch.body(), as: UTF8.self) == text)
        #expect("\(batch)" == "(2 wake-ups)")
    }

    @Test("whatever fits is read back as it was written", arguments: [1, 2, 77, 1000])
    func roundTrip(_ count: Int) throws {
        let tokens = try (0..<count).map {
            try Self.token($0 &* 7919, RelayBatch.services[$0 % 3])
        }
        let batch = RelayBatch(lifetime: count, tokens: tokens)
        #expect(try RelayBatch(body: batch.body()) == batch)
    }

    @Test("what every token may be at worst fits by bytes, and no more is taken")
    func worst() throws {
        let worst = try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x22, count: 588))
        let tokens = [PushToken](repeating: worst, count: 1000)
        let count = RelayBatch.count(of: tokens)
        let body = RelayBatch(lifetime: 2_419_200, tokens: Array(tokens.prefix(count))).body()
        #expect(body.count <= RelayRequest.maximumBytes)
        #expect(body.count > RelayRequest.maximumBytes - 1200)
        let longest = try PushToken(
            service: .apnsSandbox, bytes: [UInt8](repeating: 1, count: 100))
        #expect(RelayBatch.count(of: [PushToken](repeating: longest, count: 1200)) == 1000)
    }

    @Test("one malformed token makes the whole batch so")
    func refused() throws {
        let hex = String(repeating: "ab", count: 32)
        let good = #"{"service":"apns","token":"\#(hex)"}"#
        func batch(_ wake: String) -> String { #"{"lifetime":1,"wakes":[\#(good),\#(wake)]}"# }
        #expect(fault(batch(good)) == nil)
        #expect(fault(batch(#"{"service":"apns","token":"xy"}"#)) == .token(.malformed))
        let long = String(repeating: "a", count: 589)
        #expect(fault(batch(#"{"service":"fcm","token":"\#(long)"}"#)) == .token(.tooLong))
        let endpoint = "https://push.example.org/x"
        #expect(
            fault(batch(#"{"service":"webpush","token":"\#(endpoint)"}"#)) == .unknownService)
        #expect(fault(batch(#"{"service":"mail","token":"x"}"#)) == .unknownService)
        #expect(fault(batch(#"{"service":"apns"}"#)) == .json(.missingMember))
        #expect(fault(batch(#"{"service":"apns","id":1}"#)) == .json(.unknownMember))
        #expect(fault(#"{"lifetime":1,"wakes":[]}"#) == nil)
        #expect(fault(#"{"lifetime":-1,"wakes":[\#(good)]}"#) == .malformed)
        #expect(fault(#"{"lifetime":2419201,"wakes":[\#(good)]}"#) == .malformed)
        #expect(fault(#"{"wakes":[\#(good)]}"#) == .json(.missingMember))
        #expect(fault(#"{"lifetime":1}"#) == .json(.missingMember))
        #expect(fault("") == .json(.malformed))
        let many = [String](repeating: good, count: 1001).joined(separator: ",")
        #expect(fault(#"{"lifetime":1,"wakes":[\#(many)]}"#) == .tooLarge)
        let padding = String(repeating: " ", count: RelayRequest.maximumBytes)
        #expect(fault(batch(good) + padding) == .tooLarge)
    }

    @Test("a batch cut anywhere is refused")
    func cut() throws {
        let body = RelayBatch(
            lifetime: 7200, tokens: [try Self.token(1), try Self.token(2, .fcm)]
        ).body()
        for count in body.indices {
            #expect(throws: RelayBatchError.json(.malformed)) {
                try RelayBatch(body: Array(body.prefix(count)))
            }
        }
    }

    static let lines: [RelayLine] =
        [
            .delivery(wake: 0, .accepted), .delivery(wake: 999, .gone), .done(1000),
        ] + RetryCause.allCases.map { .delivery(wake: 17, .retry($0)) }
        + PushService.allCases.flatMap { service in
            RelayStop.allCases.map { .stopped(service, $0) }
        }

    @Test("every line is read back as it was written", arguments: lines)
    func line(_ line: RelayLine) {
        #expect(line.text.last == 0x0A && line.text.count <= RelayLine.maximumBytes)
        #expect(RelayLine(line.text.dropLast()) == line)
    }

    @Test("lines are written as the contract says")
    func writtenLines() {
        func text(_ line: RelayLine) -> String { String(decoding: line.text, as: UTF8.self) }
        #expect(text(.delivery(wake: 0, .accepted)) == "{\"wake\":0,\"delivery\":\"accepted\"}\n")
        #expect(
            text(.delivery(wake: 2, .retry(.throttled)))
                == "{\"wake\":2,\"delivery\":\"retry\",\"cause\":\"throttled\"}\n")
        #expect(text(.done(3)) == "{\"done\":3}\n")
        let failure = GatewayFailure.misconfigured(.apns(.tokensOfOtherTopic))
        let stopped = RelayLine.stopped(.apns, failure)
        #expect(
            String(decoding: stopped, as: UTF8.self)
                == #"{"service":"apns","stopped":"misconfigured","cause":"tokens-of-other-topic"}"#
                + "\n")
        #expect(RelayLine(stopped.dropLast()) == .stopped(.apns, .misconfigured))
    }

    @Test(
        "anything else is no line",
        arguments: [
            "", " ", "{}", "[]", "null", "{\"wake\":0}", "{\"delivery\":\"gone\"}",
            "{\"wake\":0,\"delivery\":\"gone\",\"cause\":\"throttled\"}",
            "{\"wake\":0,\"delivery\":\"retry\"}", "{\"wake\":-1,\"delivery\":\"gone\"}",
            "{\"wake\":0,\"delivery\":\"GONE\"}", "{\"wake\":0,\"delivery\":\"lost\"}",
            "{\"wake\":\"0\",\"delivery\":\"gone\"}", "{\"wake\":0.0,\"delivery\":\"gone\"}",
            "{\"wake\":0,\"delivery\":\"gone\",\"more\":1}", "{\"done\":1,\"wake\":0}",
            "{\"wake\":0,\"wake\":1,\"delivery\":\"gone\"}", "{\"done\":-1}",
            "{\"service\":\"apns\",\"stopped\":\"gone\",\"cause\":\"x\"}",
            "{\"service\":\"mail\",\"stopped\":\"unavailable\",\"cause\":\"x\"}",
            "{\"service\":\"apns\",\"stopped\":\"unavailable\"}",
            "{\"wake\":0,\"delivery\":\"gone\"} {\"done\":1}",
        ])
    func noLine(_ text: String) {
        #expect(RelayLine(Array(text.utf8)) == nil)
    }

    @Test("a cause that is not known yet is a refusal that is not known")
    func unknownCause() {
        let text = #"{"wake":3,"delivery":"retry","cause":"full-moon"}"#
        #expect(RelayLine(Array(text.utf8)) == .delivery(wake: 3, .retry(.unknownRefusal)))
    }

    @Test("split anywhere, an answer is read the same")
    func everySplit() throws {
        let answer = Self.lines.flatMap(\.text)
        for split in 0...answer.count {
            var reader = RelayLineReader()
            var lines: [RelayLine] = []
            let (first, second) = (Array(answer[..<split]), Array(answer[split...]))
            try reader.read(first.span) { lines.append($0) }
            try reader.read(second.span) { lines.append($0) }
            #expect(lines == Self.lines)
        }
    }

    @Test("after a line that is none nothing is believed")
    func broken() throws {
        let good = RelayLine.delivery(wake: 0, .gone).text
        let long = [UInt8](repeating: UInt8(ascii: " "), count: 257)
        for bad in [Array("garbage\n".utf8), [0x0A], long, [0xFF, 0x0A]] {
            var reader = RelayLineReader()
            var lines: [RelayLine] = []
            let bytes = good + bad + good
            #expect(throws: RelayResponseError.malformed) {
                try reader.read(bytes.span) { lines.append($0) }
            }
            #expect(throws: RelayResponseError.malformed) {
                try reader.read(good.span) { lines.append($0) }
            }
            #expect(lines.count == 1)
        }
    }
}
