import Testing
import WakeSystem

@testable import WakePush

@Suite("The meaning of APNs' answers")
struct APNsResponsesTests {
    /// Every row of the design's table, spelled out once more: status, reason on the wire, meaning.
    static let table: [(Int, String?, Verdict)] = [
        (200, nil, .delivery(.accepted)),
        (410, "Unregistered", .delivery(.gone)),
        (410, "ExpiredToken", .delivery(.gone)),
        (400, "BadDeviceToken", ambiguous(.invalid, .tokensOfOtherEnvironment)),
        (400, "DeviceTokenNotForTopic", ambiguous(.invalid, .tokensOfOtherTopic)),
        (403, "ExpiredProviderToken", .delivery(.retry(.providerTokenExpired))),
        (403, "InvalidProviderToken", failure(.keyRefused)),
        (403, "MissingProviderToken", failure(.tokenNotSeen)),
        (403, "BadEnvironmentKeyIdInToken", failure(.keyOfOtherEnvironment)),
        (403, "BadCertificateEnvironment", failure(.keyOfOtherEnvironment)),
        (403, "TopicDisallowed", failure(.topicOfOthers)),
        (403, "Forbidden", failure(.forbidden)),
        (403, nil, failure(.forbidden)),
        (403, "BadDeviceToken", failure(.forbidden)),
        (403, "Unregistered", failure(.forbidden)),
        (400, "BadTopic", failure(.topicMalformed)),
        (400, "MissingTopic", failure(.topicMalformed)),
        (400, "TopicDisallowed", failure(.topicOfOthers)),
        (400, "InvalidPushType", failure(.requestRefused(status: 400))),
        (400, "IdleTimeout", .delivery(.retry(.connectionFault))),
        (404, "BadPath", failure(.requestRefused(status: 404))),
        (404, nil, failure(.requestRefused(status: 404))),
        (405, "MethodNotAllowed", failure(.requestRefused(status: 405))),
        (413, "PayloadTooLarge", failure(.requestRefused(status: 413))),
        (429, "TooManyProviderTokenUpdates", .delivery(.retry(.providerTokenUpdates))),
        (429, "TooManyRequests", .delivery(.retry(.throttled))),
        (429, nil, .delivery(.retry(.throttled))),
        (500, "InternalServerError", .delivery(.retry(.serviceFault))),
        (500, "Unregistered", .delivery(.retry(.serviceFault))),
        (502, nil, .delivery(.retry(.serviceFault))),
        (503, "ServiceUnavailable", .delivery(.retry(.serviceFault))),
        (503, "Shutdown", .delivery(.retry(.serviceFault))),
        (599, nil, .delivery(.retry(.serviceFault))),
        (410, nil, unknown(410)),
        (410, "BadDeviceToken", unknown(410)),
        (410, "SomethingNew", unknown(410)),
        (400, "Unregistered", unknown(400)),
        (400, "PayloadEmpty", unknown(400)),
        (400, nil, unknown(400)),
        (302, nil, unknown(302)),
        (204, nil, unknown(204)),
        (0, "Unregistered", unknown(0)),
        (600, nil, unknown(600)),
    ]

    @Test("every row of the table", arguments: table)
    func row(_ status: Int, _ reason: String?, _ expected: Verdict) {
        let body = reason.map { #"{"reason":"\#($0)"}"# } ?? ""
        #expect(Self.verdict(status, body) == expected)
    }

    @Test("every row of the data is reached by its own status and reason")
    func rowsAreReached() {
        for row in APNsResponses.table.rows {
            let body = row.reason.map { #"{"reason":"\#($0.rawValue)"}"# } ?? ""
            #expect(Self.verdict(row.status.upperBound, body) == row.verdict)
        }
    }

    @Test("only two answers say gone by themselves, and two more with answers")
    func goneIsRare() {
        var plain: [String] = []
        var withEvidence: [String] = []
        let words = APNsReason.allCases.map { $0.rawValue } + ["Unknown", ""]
        for status in 0...999 {
            for word in words {
                switch Self.verdict(status, #"{"reason":"\#(word)"}"#) {
                case .delivery(.gone): plain.append("\(status) \(word)")
                case .ambiguous(.invalid, _): withEvidence.append("\(status) \(word)")
                default: break
                }
            }
        }
        #expect(plain.sorted() == ["410 ExpiredToken", "410 Unregistered"])
        #expect(
            withEvidence.sorted() == ["400 BadDeviceToken", "400 DeviceTokenNotForTopic"])
    }

    @Test("every fault says what is wrong and what to do, and names a setting or a command")
    func messages() {
        let faults: [APNsFault] = [
            .keyRefused, .tokenNotSeen, .clockWrong, .forbidden, .keyOfOtherEnvironment,
            .topicMalformed, .topicOfOthers, .tokensOfOtherEnvironment, .tokensOfOtherTopic,
            .requestRefused(status: 404),
        ]
        let messages = faults.map { Misconfiguration.apns($0).message }
        #expect(Set(messages).count == faults.count)
        for message in messages {
            let lines = message.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines[0].hasPrefix("apns: ") && lines[1].hasPrefix("hint: "))
        }
        #expect(Misconfiguration.apns(.keyRefused).message.contains("key-id"))
        #expect(Misconfiguration.apns(.topicMalformed).message.contains("topic"))
        #expect(Misconfiguration.apns(.clockWrong).message.contains("timedatectl"))
    }

    static func verdict(_ status: Int, _ body: String) -> Verdict {
        APNsResponses.verdict(status: status, body: Array(body.utf8).span)
    }

    static func failure(_ fault: APNsFault) -> Verdict { .failure(.misconfigured(.apns(fault))) }

    static func ambiguous(_ delivery: Delivery, _ fault: APNsFault) -> Verdict {
        .ambiguous(then: delivery, or: .apns(fault))
    }

    static func unknown(_ status: Int) -> Verdict {
        ambiguous(.retry(.unknownRefusal), .requestRefused(status: status))
    }
}

@Suite("Evidence that a gateway works")
struct ProvisionalAnswersTests {
    private let fault = Misconfiguration.apns(.tokensOfOtherEnvironment)

    @Test("a bad token first in a round is held, and gone once another is accepted")
    func heldThenGone() {
        var answers = ProvisionalAnswers<Int>()
        #expect(answers.add(1, then: .invalid, or: fault).isEmpty)
        #expect(answers.add(2, then: .invalid, or: fault).isEmpty)
        let decided = answers.accept()
        #expect(decided.map(\.item) == [1, 2] && decided.allSatisfy { $0.delivery == .invalid })
        #expect(answers.accept().isEmpty)
        #expect(answers.add(3, then: .invalid, or: fault).map(\.item) == [3])
        let (rest, suspicion) = answers.giveUp()
        #expect(rest.isEmpty && suspicion == nil)
    }

    @Test("what is held at the end is left for the next round, and names what may be at fault")
    func finishedWithout() {
        var answers = ProvisionalAnswers<Int>()
        #expect(answers.giveUp().suspicion == nil)
        #expect(answers.add(1, then: .invalid, or: fault).isEmpty)
        #expect(answers.add(2, then: .invalid, or: fault).isEmpty)
        let (rest, suspicion) = answers.giveUp()
        #expect(rest == [1, 2] && suspicion == fault)
        #expect(answers.giveUp().items.isEmpty)
    }

    @Test("beyond the bound the oldest is given up; however many there are, nobody is blamed")
    func bound() {
        var answers = ProvisionalAnswers<Int>()
        let limit = ProvisionalAnswers<Int>.limit
        for item in 0..<limit { #expect(answers.add(item, then: .invalid, or: fault).isEmpty) }
        for item in 0..<10 {
            let spilled = answers.add(limit + item, then: .invalid, or: fault)
            #expect(spilled.map(\.item) == [item])
            #expect(spilled.map(\.delivery) == [.retry(.unknownRefusal)])
        }
        #expect(answers.accept().map(\.item) == Array(10..<limit + 10))
    }
}
