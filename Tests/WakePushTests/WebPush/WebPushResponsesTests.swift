import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Web Push answers")
struct WebPushResponsesTests {
    private static func refused(_ fault: WebPushFault) -> Verdict {
        .ambiguous(then: .retry(.unknownRefusal), or: .webPush(fault))
    }

    @Test(
        "every row of the table means what it says",
        arguments: [
            (200, .delivery(.accepted)), (201, .delivery(.accepted)), (202, .delivery(.accepted)),
            (204, .delivery(.accepted)), (299, .delivery(.accepted)),
            (300, refused(.requestRefused(status: 300))),
            (301, refused(.requestRefused(status: 301))),
            (307, refused(.requestRefused(status: 307))),
            (400, refused(.requestRefused(status: 400))),
            (401, refused(.keyRefused(status: 401))), (403, refused(.keyRefused(status: 403))),
            (404, .ambiguous(then: .invalid, or: .webPush(.endpointsUnknown))),
            (405, refused(.requestRefused(status: 405))), (408, .delivery(.retry(.serviceFault))),
            (410, .delivery(.gone)), (411, refused(.requestRefused(status: 411))),
            (413, refused(.requestRefused(status: 413))),
            (415, refused(.requestRefused(status: 415))), (429, .delivery(.retry(.throttled))),
            (451, refused(.requestRefused(status: 451))),
            (500, .delivery(.retry(.serviceFault))), (502, .delivery(.retry(.serviceFault))),
            (503, .delivery(.retry(.serviceFault))), (507, .delivery(.retry(.serviceFault))),
            (599, .delivery(.retry(.serviceFault))),
            (999, refused(.requestRefused(status: 999))),
        ] as [(Int, Verdict)])
    func rows(_ status: Int, _ verdict: Verdict) {
        #expect(WebPushResponses.verdict(status: status) == verdict)
    }

    @Test("406 of Microsoft's service is about the whole host, of others it is a refusal")
    func microsoft() {
        for kind in PushHostKind.allCases {
            let isThrottling = kind == .microsoft
            #expect(
                WebPushResponses.verdict(status: 406, of: kind)
                    == (isThrottling
                        ? .delivery(.retry(.throttled))
                        : Self.refused(.requestRefused(status: 406))))
            #expect(WebPushResponses.throttlesHost(406, kind) == isThrottling)
            #expect(!WebPushResponses.throttlesHost(429, kind))
        }
    }

    @Test("to say when to come again is not to refuse, but for endpoint and key")
    func retryAfter() {
        for status in 400...499 {
            let verdict = WebPushResponses.verdict(status: status, retryAfter: 30)
            if [401, 404, 410].contains(status) {
                #expect(verdict == WebPushResponses.verdict(status: status))
            } else {
                #expect(verdict == .delivery(.retry(.throttled)))
            }
        }
        #expect(
            WebPushResponses.verdict(status: 302, retryAfter: 30)
                == Self.refused(.requestRefused(status: 302)))
    }

    @Test("only 404 and 410 can ever delete, and only 410 by itself")
    func deletes() {
        for status in -1...1000 {
            switch WebPushResponses.verdict(status: status) {
            case .delivery(.gone): #expect(status == 410)
            case .ambiguous(then: .invalid, or: _): #expect(status == 404)
            case .delivery, .ambiguous, .failure: #expect(status != 404 && status != 410)
            }
        }
    }

    @Test("every fault has a word of its own, and two lines that hold no secrets")
    func faults() {
        let faults: [WebPushFault] = [
            .keyRefused(status: 403), .requestRefused(status: 400), .endpointsUnknown, .untrusted,
            .addressesRefused,
        ]
        #expect(Set(faults.map { $0.name.description }).count == faults.count)
        for fault in faults {
            let failure = GatewayFailure.misconfigured(.webPush(fault))
            #expect(failure.message.hasPrefix("webpush: "))
            #expect(failure.message.split(separator: "\n").count == 2)
            #expect(failure.message.contains("\nhint: ") && "\(failure.name)" == "\(fault.name)")
        }
    }
}
