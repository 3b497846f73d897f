import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel

/// What a 204 to a DELETE promises holds at once, whatever the service does besides.
@Suite("Forgotten means gone before the answer", .timeLimit(.minutes(10)))
struct ErasureTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static let path = "/v1/registration"

    /// An address that everybody in these tests comes from.
    private struct Origin: Sendable {
        let bytes = [0x20, 0x01, 0x0D, 0xB8] + (0..<12).map { _ in UInt8.random(in: 1...255) }

        var text: String {
            stride(from: 0, to: 16, by: 2).map {
                String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16)
            }.joined(separator: ":")
        }

        /// As itself, as others write it, and without its separators.
        var forms: [[UInt8]] {
            let hex = Hex.encode(bytes.span)
            let base64 = Array(Data(bytes).base64EncodedString().utf8.prefix(20))
            return [bytes, Array(text.utf8), Array(text.uppercased().utf8), hex, base64]
        }

        /// The front's own header (PROXY protocol v2, TCP over IPv6).
        private var header: [UInt8] {
            let mark: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
            let end = [UInt8](repeating: 0, count: 15) + [1, 0x30, 0x39, 0x01, 0xBB]
            return mark + [0x21, 0x21, 0, 36] + bytes + end
        }

        func connect(_ port: UInt16) throws -> LoopbackClient {
            let client = try LoopbackClient(port: port)
            try client.send(header)
            return client
        }

        /// One request with the address wherever clients and fronts put one.
        func exchange(
            _ client: LoopbackClient, _ method: String, _ token: String, body: [UInt8] = []
        ) throws -> WireResponse {
            let head = """
                \(method) \(path) HTTP/1.1\r
                Host: reveille.test\r
                Authorization: Bearer \(token)\r
                X-Forwarded-For: \(text), \(text)\r
                Forwarded: for="[\(text)]:4711";proto=https\r
                X-Real-IP: \(text)\r
                User-Agent: app/1 (\(text))\r
                Content-Length: \(body.count)\r
                \r

                """
            try client.send(Array(head.utf8) + body)
            return try client.receiveResponse()
        }
    }

    @Test("under load, during rotations: between the answer and the next request nothing is left")
    func load() async throws {
        let service = try await ServiceUnderTest(
            extra: "proxy-protocol = on\n[registration]\nnew-per-prefix = 100000")
        let origin = Origin()
        let (isOver, gone) = (Observed(false), Observed<[TestDevice]>([]))
        let port = service.port
        let others = (0..<4).map { _ in
            Task.onThread { Self.churn(origin, port, isOver, gone) }
        }
        let words = ["rotate", "--now", "--yes", "--config", service.configuration]
        let rotations = Observed<[(status: Int32, output: String)]>([])
        let rotating = Task {
            while !isOver.value {
                let rotation = try await RunningProgram.run("reveille", words)
                rotations.update { $0.append(rotation) }
            }
        }
        let client = try origin.connect(port)
        var (rounds, seen) = (0, 0)
        let (wanted, turns) = Self.isLong ? (1000, 20) : (40, 2)
        while rounds < wanted || rotations.value.count < turns {
            let device = TestDevice()
            let put = try origin.exchange(client, "PUT", device.token, body: device.body)
            #expect(put.status == 204)
            let access = try origin.exchange(client, "GET", device.token)
            // Two rotations in between would have dropped it.
            guard let stored = try RegistrationResponse.decode(access.body).stored else { continue }
            seen += StorePlace.hits([stored.sealed], in: service.data)
            let delete = try origin.exchange(client, "DELETE", device.token)
            #expect(delete.status == 204)
            let traces = device.forms + [stored.id, stored.sealed]
            #expect(StorePlace.hits(traces, in: service.data) == 0, "round \(rounds)")
            rounds += 1
        }
        isOver.update { $0 = true }
        for other in others { #expect(await other.value > 0) }
        try await rotating.value
        for rotation in rotations.value { #expect(rotation.status == 0, "\(rotation.output)") }
        #expect(seen > rounds / 2)
        #expect(await service.stop() == 0)
        try check(service, origin, gone.value)
    }

    /// Whatever others deleted, and where everybody came from.
    private func check(
        _ service: ServiceUnderTest, _ origin: Origin, _ gone: [TestDevice]
    ) throws {
        #expect(gone.count > 10)
        let traces = origin.forms + gone.suffix(100).flatMap(\.forms)
        let files = try service.files().values.map { Array($0) }
        #expect(files.reduce(0) { $0 + $1.count } > 1 << 20)
        let said = Array(service.program.output.utf8)
        #expect(!said.isEmpty)
        for trace in traces {
            #expect(!said.holds(trace))
            #expect(!files.contains { $0.holds(trace) })
        }
    }

    /// Somebody else who registers, renews, moves and deletes until it is over.
    /// - Returns: how many requests were answered.
    private static func churn(
        _ origin: Origin, _ port: UInt16, _ isOver: Observed<Bool>, _ gone: Observed<[TestDevice]>
    ) -> Int {
        guard let client = try? origin.connect(port) else { return 0 }
        var answers = 0
        func send(_ method: String, _ device: TestDevice, _ body: [UInt8] = []) -> Bool {
            let answer = try? origin.exchange(client, method, device.token, body: body)
            answers += answer?.status == 204 ? 1 : 0
            return answer?.status == 204
        }
        while !isOver.value {
            let device = TestDevice()
            guard send("PUT", device, device.body), send("PUT", device, device.body),
                send("PUT", device, TestDevice().body)
            else { return 0 }
            guard answers % 4 == 3 else { continue }
            guard send("DELETE", device) else { return 0 }
            gone.update { $0.append(device) }
        }
        return answers
    }
}
