import Dispatch
import Foundation
import Synchronization
import TestSupport
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

/// A relay on loopback that checks what comes and answers as it is told.
final class RelayPeer: Sendable {
    /// How one request is answered.
    enum Reply: Sendable {
        /// Lines, each in a chunk of its own, to the proper end.
        case lines([[UInt8]])
        /// These bytes of lines in one chunk, and then the connection ends within the body.
        case cut([UInt8])
        /// A line, and the rest when the test says so.
        case held([[UInt8]], until: Gate)
        case refusal(Int, code: String, fields: String = "")
        /// No answer at all.
        case hangUp
        case raw(String)
    }

    /// What came, in order.
    struct Request: Sendable {
        let wire: WireRequest
        let batch: RelayBatch
        /// Of the signature; nil when it verifies.
        let fault: SignatureError?
    }

    let requests = Observed<[Request]>([])
    let server: WireServer
    static let key = SigningKey(seed: [UInt8](repeating: 9, count: 32).span)

    /// - Parameter answer: by the number of the request, from 1 on.
    init(_ answer: @escaping @Sendable (Int, RelayBatch) -> Reply) throws {
        let requests = self.requests
        let shared = Shared()
        server = try WireServer { peer in
            while let wire = WireRequest(from: peer) {
                guard let request = shared.read(wire) else { return }
                let number = requests.update { requests in
                    requests.append(request)
                    return requests.count
                }
                guard Self.send(answer(number, request.batch), peer) else { return }
            }
        }
        shared.set(server.port)
    }

    /// What the script knows of its own server.
    private final class Shared: Sendable {
        private let port = Mutex<UInt16>(0)
        private let replays = Mutex(ReplayGuard(start: Int(time(nil)) - 60))

        func set(_ number: UInt16) { port.withLock { $0 = number } }

        func read(_ wire: WireRequest) -> Request? {
            guard wire.method == "POST", wire.path == "/v1/relay/wakes",
                let batch = try? RelayBatch(body: wire.body)
            else { return nil }
            return Request(wire: wire, batch: batch, fault: fault(wire))
        }

        private func fault(_ wire: WireRequest) -> SignatureError? {
            func field(_ name: String) -> [UInt8]? { wire[name].map { Array($0.utf8) } }
            let authority = port.withLock { Array("127.0.0.1:\($0)".utf8) }
            do throws(SignatureError) {
                let request = try RelayRequest(
                    contentType: field("Content-Type"), contentDigest: field("Content-Digest"),
                    signatureInput: field("Signature-Input"), signature: field("Signature"))
                try request.verify(authority: authority, key: RelayPeer.key.verifyingKey)
                try request.verify(body: wire.body.span)
                let parameters = request.signature.parameters
                try replays.withLock { replays throws(SignatureError) in
                    try replays.admit(
                        created: parameters.created, nonce: parameters.nonce,
                        now: Int(time(nil)))
                }
                return nil
            } catch {
                return error
            }
        }
    }

    /// - Returns: whether the connection may be used again.
    private static func send(_ reply: Reply, _ peer: LoopbackClient) -> Bool {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/jsonl\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n"
        func chunk(_ bytes: [UInt8]) -> [UInt8] {
            guard !bytes.isEmpty else { return [] }
            return Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes
                + Array("\r\n".utf8)
        }
        do {
            switch reply {
            case .lines(let lines):
                try peer.send(Array(head.utf8) + lines.flatMap(chunk) + Array("0\r\n\r\n".utf8))
            case .cut(let bytes):
                try peer.send(Array(head.utf8) + chunk(bytes))
                return false
            case .held(let lines, let gate):
                try peer.send(Array(head.utf8) + chunk(lines[0]))
                gate.wait()
                try peer.send(lines.dropFirst().flatMap(chunk) + Array("0\r\n\r\n".utf8))
            case .refusal(let status, let code, let fields):
                let body = #"{"type":"about:blank","status":\#(status),"code":"\#(code)"}"#
                try peer.send(
                    "HTTP/1.1 \(status) X\r\nContent-Type: application/problem+json\r\n\(fields)"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            case .hangUp: return false
            case .raw(let text):
                try peer.send(text)
                return false
            }
            return true
        } catch {
            return false
        }
    }

    /// A line for each wake-up and the last one; gone when the number of the push token ends in 7.
    static func answer(_ batch: RelayBatch) -> [[UInt8]] {
        batch.tokens.enumerated().map { wake, token in
            RelayLine.delivery(wake: wake, number(token) % 10 == 7 ? .gone : .accepted).text
        } + [RelayLine.done(batch.tokens.count).text]
    }

    /// What `WakeUp.numbered` has put into a push token.
    static func number(_ token: PushToken) -> Int {
        token.bytes.withSpan { bytes in
            (24..<32).reduce(0) { $0 << 8 | Int(bytes[$1]) }
        }
    }

    func stop() { server.refuse() }
}

/// Something that threads of servers wait for.
final class Gate: Sendable {
    private let group = DispatchGroup()

    init() { group.enter() }
    func open() { group.leave() }
    /// Ten minutes at most.
    func wait() { _ = group.wait(timeout: .now() + 600) }
}

/// A gateway to a relay on loopback, with what its round reported. Its clock goes on only while
/// nothing is with the relay: a busy machine takes no patience away.
final class RelayRoundUnderTest {
    let reports = Observed<[GatewayReport]>([])
    let gateway: RelayGateway
    let round: any GatewaySession
    private let timer: any DispatchSourceTimer
    private let isRunning: Observed<Bool>
    private let directory: TemporaryDirectory

    /// - Parameter runs: whether time passes from the start on, and not only after `run`.
    init(
        _ url: String, wallOffset: Int64 = 0, lifetime: Int = 7200, runs: Bool = true
    ) throws {
        directory = try TemporaryDirectory()
        let seed = [UInt8](repeating: 9, count: 32)
        let text = Base64URL.encode(seed.span) + [0x0A]
        let path = "\(directory.path)/relay.key"
        try Data(text).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        guard let configuration = try RelayConfiguration(section: ["via": url, "via-key": path])
        else { throw TestFailure("a section is a configuration") }
        let milliseconds = Observed<UInt64>(0)
        isRunning = Observed(runs)
        let clock = TimeSource(
            milliseconds: { milliseconds.value },
            random: { 0.5 }, wallSeconds: { Int64(time(nil)) + wallOffset })
        gateway = try RelayGateway(
            .apns, configuration, key: try configuration.relayKey(), clock: clock)
        let round = gateway.open(lifetime: lifetime) { [reports] report in
            reports.update { $0.append(report) }
        }
        self.round = round
        // A queue of its own: timers of the shared ones wait for tests that block.
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "clock of a relay"))
        timer.schedule(deadline: .now(), repeating: .milliseconds(5))
        timer.setEventHandler { [weak round, isRunning] in
            guard let round, isRunning.value else { return }
            if round.inFlight == 0 { milliseconds.update { $0 += 250 } }
            round.tick()
        }
        timer.resume()
    }

    /// Lets time pass.
    func run() { isRunning.update { $0 = true } }

    deinit {
        timer.cancel()
        round.cancel()
    }

    var failure: GatewayFailure? { Self.failure(reports.value) }

    /// Everything settled so far, in order.
    static func settled(_ reports: [GatewayReport]) -> [WakeUpResult] {
        reports.flatMap { report -> [WakeUpResult] in
            if case .completed(let wakeUps) = report { wakeUps } else { [] }
        }
    }

    /// Waits until so many are settled, or the gateway has failed.
    func settled(_ count: Int) async throws -> [WakeUpResult] {
        try await reports.first { reports in
            let settled = Self.settled(reports)
            return settled.count >= count || Self.failure(reports) != nil ? settled : nil
        }
    }

    private static func failure(_ reports: [GatewayReport]) -> GatewayFailure? {
        for case .failed(let failure) in reports { return failure }
        return nil
    }
}

extension WakeUp {
    /// Wake-ups to push tokens that are their numbers.
    static func numbered(_ references: Range<Int>) throws -> [WakeUp] {
        try references.map { reference in
            let number = (0..<8).map { UInt8(truncatingIfNeeded: reference >> (56 - 8 * $0)) }
            return WakeUp(
                reference: reference,
                token: try PushToken(
                    service: .apns, bytes: [UInt8](repeating: 0, count: 24) + number))
        }
    }
}
