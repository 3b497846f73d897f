import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Registrations without an address, by a client that is not ours", .timeLimit(.minutes(5)),
    .enabled(if: ObliviousPeer.isInstalled, "needs python3 with cryptography"),
    .enabled(if: ObliviousRelay.program != nil, ObliviousRelay.missing))
struct ObliviousStoryTests {
    @Test("are made, read and deleted through a relay, with messages of one length")
    func story() async throws {
        let place = try await ObliviousPlace()
        let device = TestDevice()
        for cipher in [3, 1] {
            let answers = try await ObliviousPeer.exchange(
                place.plan("PUT", device, cipher: cipher),
                place.plan("GET", device, cipher: cipher),
                place.plan("PUT", device, cipher: cipher),
                place.plan("DELETE", device, cipher: cipher),
                place.plan("GET", device, cipher: cipher),
                place.plan("DELETE", device, cipher: cipher))
            #expect(answers.map(\.status) == [200, 200, 200, 200, 200, 200])
            #expect(answers.map { $0.inner?.status } == [204, 200, 204, 204, 200, 204])
            #expect(answers[1].inner?.body.contains(device.pushText) == true)
            #expect(answers[4].inner?.body.contains(device.pushText) == false)
            #expect(Set(answers.map(\.sent)) == [Limits.obliviousRequestBytes + 55])
            #expect(Set(answers.map(\.length)) == [Limits.obliviousAnswerBytes])
            #expect(Set(answers.map(\.type)) == ["message/ohttp-res"])
        }
    }

    @Test("reach nothing but registrations, and what is wrong with them is said inside")
    func inside() async throws {
        let place = try await ObliviousPlace()
        let device = TestDevice()
        var plans: [ObliviousPeer.Plan] = []
        func add(_ change: (inout ObliviousPeer.Plan) -> Void) {
            var plan = place.plan("GET", device)
            change(&plan)
            plans.append(plan)
        }
        for path in ["/", "/v1/policy", "/v1/oblivious", "/feed/head", "/v1/registration/"] {
            add { $0.path = path }
        }
        add { $0.path = "/v1/registration?x" }
        add { $0.method = "POST" }
        add { $0.token = nil }
        add { $0.token = "short" }
        add { $0.fields = ["expect": "100-continue"] }
        add { $0.fields = ["connection": "close"] }
        add { $0.message = "0140c8" }
        add { $0.message = "ff" }
        add { ($0.method, $0.body) = ("PUT", "{}") }
        let answers = try await ObliviousPeer.exchange(plans)
        #expect(Set(answers.map(\.status)) == [200])
        #expect(Set(answers.map(\.length)) == [Limits.obliviousAnswerBytes])
        #expect(
            answers.map { $0.inner?.status } == [
                404, 404, 404, 404, 404, 400, 405, 401, 401, 400, 400, 400, 400, 400,
            ])
        var chunked = place.plan("PUT", device)
        chunked.chunks = true
        #expect(try await ObliviousPeer.exchange(chunked)[0].inner?.status == 204)
    }

    @Test("are refused with RFC 9458's answers when they were cut, altered, or are for no key here")
    func refused() async throws {
        let place = try await ObliviousPlace()
        let device = TestDevice()
        var plans: [ObliviousPeer.Plan] = []
        func add(_ change: (inout ObliviousPeer.Plan) -> Void) {
            var plan = place.plan("PUT", device)
            change(&plan)
            plans.append(plan)
        }
        for byte in [0, 1, 2, 3, 4, 5, 6, 7, 38, 39, 500, -1] { add { $0.flip = byte } }
        for count in [2000, 300, 56, 55] { add { $0.cut = count } }
        let altered = plans.count
        for count in [54, 7, 1] { add { $0.cut = count } }
        for direct in [false, true] {
            if direct {
                plans.indices.forEach { plans[$0].url = place.gateway }
                // A relay names the type itself.
                add { ($0.url, $0.type) = (place.gateway, "application/json") }
            }
            let answers = try await ObliviousPeer.exchange(plans)
            for answer in answers[..<altered] {
                #expect(answer.status == 400 && answer.problem?.code == "oblivious_key")
                #expect(
                    answer.problem?.type
                        == "https://iana.org/assignments/http-problem-types#ohttp-key")
            }
            #expect(Set(answers[..<altered].map(\.length)).count == 1)
            for answer in answers[altered..<altered + 3] {
                #expect(answer.status == 400 && answer.problem?.code == "oblivious_malformed")
            }
            #expect(!direct || answers.last?.status == 415)
        }
        // Nothing of all this was stored.
        let held = try await ObliviousPeer.exchange(place.plan("GET", device))
        #expect(held[0].inner?.body.contains(device.pushText) == false)
    }

    @Test("have the content types and codings inside that they may have outside")
    func types() async throws {
        let place = try await ObliviousPlace()
        var plans: [ObliviousPeer.Plan] = []
        func add(_ change: (inout ObliviousPeer.Plan) -> Void) {
            var plan = place.plan("PUT", TestDevice())
            plan.url = plans.count % 2 == 0 ? plan.url : place.gateway
            change(&plan)
            plans.append(plan)
        }
        for type in ["message/ohttp-req; a=b", "Message/OHTTP-req ;a"] {
            for _ in 0..<2 { add { $0.type = type } }
        }
        for type in ["application/json;charset=utf-8", "Application/JSON; charset=\"UTF-8\""] {
            add { $0.bodyType = type }
        }
        let allowed = plans.count
        add { $0.bodyType = "application/json; charset=latin1" }
        add { $0.bodyType = "text/plain" }
        add { $0.fields = ["content-encoding": "gzip"] }
        let answers = try await ObliviousPeer.exchange(plans)
        #expect(answers[..<allowed].allSatisfy { $0.inner?.status == 204 })
        let refused = answers[allowed...].map { $0.inner }
        #expect(refused.map { $0?.status } == [415, 415, 415])
        #expect(refused.last??.body.contains("content_encoding") == true)
        #expect(try place.service.rows() == allowed)
    }

    @Test("may come twice, as a relay can send them, and are then as if they came once")
    func replayed() async throws {
        let place = try await ObliviousPlace()
        let device = TestDevice()
        var put = place.plan("PUT", device)
        put.times = 5
        var delete = place.plan("DELETE", device)
        delete.times = 5
        let answers = try await ObliviousPeer.exchange(put, place.plan("GET", device), delete)
        #expect(answers.map { $0.inner?.status } == [204, 200, 204])
        let status = try await place.service.command("status", "--json").output
        #expect(status.contains("\"registrations_current\":0"), "\(status)")
        #expect(status.contains("\"registers_new\":1"), "\(status)")
    }

    @Test("need work beyond their part of the free ones, and do not use up the others'")
    func flooded() async throws {
        let place = try await ObliviousPlace(sections: "\n[registration]\nnew-per-day = 80\n")
        let plans = (0..<30).map { _ in place.plan("PUT", TestDevice()) }
        let answers = try await ObliviousPeer.exchange(plans)
        let statuses = answers.map { $0.inner?.status }
        // Their part is ten. From the half on the next one is taken by chance, and some at once.
        let taken = statuses.count { $0 == 204 }
        #expect((2...22).contains(taken) && statuses.count { $0 == 429 } == 30 - taken)
        #expect(Set(answers.map(\.length)) == [Limits.obliviousAnswerBytes])
        let challenge = answers.last { $0.inner?.status == 429 }?.inner
        #expect(challenge?.fields["retry-after"] == "60")
        #expect(challenge?.body.contains("\"challenge\"") == true)
        let device = TestDevice()
        let plain = try place.service.send(
            "PUT", "/v1/registration", token: device.token, body: device.body)
        #expect(plain.status == 204)
    }

    @Test("go on while a key is replaced: the former one is valid until it is named no more")
    func rotated() async throws {
        let place = try await ObliviousPlace()
        let device = TestDevice()
        try await place.replaceKey()
        var answers = try await ObliviousPeer.exchange(
            place.plan("PUT", device, key: 0), place.plan("GET", device, key: 1))
        #expect(answers.map { $0.inner?.status } == [204, 200])
        try await place.forgetFormerKey()
        answers = try await ObliviousPeer.exchange(place.plan("GET", device, key: 0))
        #expect(answers[0].inner?.status == 200)
    }
}
