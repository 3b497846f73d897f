private import Glibc
import TestSupport
import WakeModel

/// Connections and event streams that are held open, and a broadcast to the latter.
enum StreamRows {
    static let all: [Benchmark] = [fanOut, idle(streaming: true), idle(streaming: false)]

    private static let sizes = Sizes(10_000, growth: 100)

    private static let fanOut = Benchmark(
        "streams-fanout-10000", "an event to each of 10,000 streams", unit: "streams",
        sizes: sizes, by: .processorTime
    ) { setting in
        let place = try await StreamPlace(setting)
        return [
            Arm(.ours, "service") { _ in try await place.wakeAll() },
            Arm(.ceiling, "send(2) alone") { _ in try StreamPlace.sendAlone(setting.size) },
        ]
    }

    private static func idle(streaming: Bool) -> Benchmark {
        let what = streaming ? "an idle event stream" : "an idle connection"
        return Benchmark(
            "\(streaming ? "streams" : "connections")-idle-10000",
            "\(what) of 10,000: user memory, and CPU in five seconds",
            unit: "connections", sizes: sizes, by: .bytes, rounds: 3
        ) { setting in
            var arms = [
                Arm(.ours, "service") { _ in
                    let service = try await StreamPlace.started(setting)
                    let measured = try StreamPlace.idle(
                        setting.size, streaming ? .stream : .policy, service.address,
                        process: service.process)
                    try await service.stop()
                    return measured
                }
            ]
            if setting.hasPeers, streaming, let nginx = try NginxPeer(setting) {
                arms.append(
                    Arm(.peer, "nginx with nchan") { _ in try nginx.idle(setting.size) })
            }
            return arms
        }
    }
}

/// A service with many event streams, and those who listen.
final class StreamPlace {
    private let service: BenchService
    private let streams: IdleConnections
    private let count: Int

    fileprivate init(_ setting: Setting) async throws {
        service = try await Self.started(setting)
        count = setting.size
        streams = try IdleConnections(count, to: service.address)
        try streams.ask(.stream)
    }

    fileprivate static func started(_ setting: Setting) async throws -> BenchService {
        // Both ends need one each, and the service inherits the limit.
        let needed = setting.size + 512
        guard ProcessMemory.raiseOpenFiles(to: needed) >= needed else {
            throw BenchFailure("\(needed) open files are not allowed")
        }
        let service = try await BenchService(in: setting.directory)
        try await service.start()
        return service
    }

    /// The time from the operator's request to the event on each stream.
    fileprivate func wakeAll() async throws -> Measurement {
        let admin = try LoopbackClient(path: service.adminSocket)
        let before = Stopwatch.processorSeconds(of: service.process)
        let start = Stopwatch.monotonic()
        let body = Array(#"{"force":true}"#.utf8)
        try admin.send(
            Array(
                ("POST /v1/broadcast HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n")
                    .utf8) + body)
        let latencies = try streams.awaitEvent(since: start)
        let seconds = Double(Stopwatch.monotonic() - start) / 1e9
        let answer = try admin.receiveResponse(toHead: false)
        guard answer.status == 200 else { throw BenchFailure("no broadcast: \(answer.status)") }
        guard let before, let after = Stopwatch.processorSeconds(of: service.process) else {
            throw BenchFailure("no figures of the service")
        }
        var measured = Measurement(
            operations: count, seconds: seconds, processorSeconds: after - before,
            latencies: latencies)
        measured.memory = ProcessStatus(of: service.process)?.peak
        // The announcement of a round of nobody has ended by itself.
        try await waitForRest()
        return measured
    }

    private func waitForRest() async throws {
        let admin = try LoopbackClient(path: service.adminSocket)
        while true {
            let answer = try admin.exchange("GET", "/v1/broadcast")
            let text = String(decoding: answer.body, as: UTF8.self)
            if text.contains(#""running":false"#) { return }
            poll(nil, 0, 10)
        }
    }

    /// The same bytes by one send(2) each, to sockets of this process that are emptied meanwhile.
    fileprivate static func sendAlone(_ count: Int) throws -> Measurement {
        let event = WakeEvent(sequence: 1_000_000).encode()
        let sockets = min(count, 1000)
        var ends: [(from: Int32, to: Int32)] = []
        defer {
            for end in ends {
                close(end.from)
                close(end.to)
            }
        }
        for _ in 0..<sockets {
            var pair: [Int32] = [-1, -1]
            guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
                throw BenchFailure("no sockets")
            }
            ends.append((pair[0], pair[1]))
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        var (done, seconds, processor) = (0, 0.0, 0.0)
        while done < count {
            let (watch, start) = (Stopwatch(), Stopwatch.threadSeconds)
            for end in ends {
                _ = unsafe send(end.from, event, event.count, Int32(MSG_NOSIGNAL))
            }
            seconds += watch.seconds
            processor += Stopwatch.threadSeconds - start
            done += sockets
            for end in ends { _ = unsafe recv(end.to, &bytes, bytes.count, 0) }
        }
        return Measurement(operations: done, seconds: seconds, processorSeconds: processor)
    }

    /// Opens connections, asks once on each, and leaves them alone for five seconds.
    static func idle(
        _ count: Int, _ asking: IdleConnections.Asking, _ address: ServiceAddress,
        process: Int, memory: () -> Int? = { nil }
    ) throws -> Measurement {
        // A few first: the allocator's own memory and the code's are not the connections'.
        let first = try IdleConnections(16, to: address)
        try first.ask(asking)
        func used() throws -> Int {
            if let given = memory() { return given }
            guard let status = ProcessStatus(of: process) else {
                throw BenchFailure("no figures of the service")
            }
            return status.anonymous
        }
        let before = try used()
        let idle = try IdleConnections(count, to: address)
        try idle.ask(asking)
        let after = try used()
        let start = Stopwatch.processorSeconds(of: process) ?? 0
        for _ in 0..<50 { poll(nil, 0, 100) }
        let end = Stopwatch.processorSeconds(of: process) ?? 0
        var measured = Measurement(
            operations: count, seconds: 5, processorSeconds: end - start)
        measured.bytes = Double(max(0, after - before)) / Double(count)
        measured.memory = ProcessStatus(of: process)?.peak
        measured.failures = count - idle.stillOpen()
        withExtendedLifetime(first) {}
        return measured
    }
}
