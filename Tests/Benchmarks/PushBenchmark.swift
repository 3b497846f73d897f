private import Glibc
import TestSupport

/// What a push costs, and how many there are a second; beside other clients, and as windows, time
/// and connections change.
struct PushBenchmark {
    private static let help = """
        usage: bench push [--pushes 1000000] [--rounds 3] [--only ROWS] [--directory DIR]

        ROWS is one of paired, windows, latency, memory, once; all of them without it.

          paired    CPU of the sending process and rate over one TLS connection, best of the
                    rounds: the engine, h2load (Debian: nghttp2-client) and node's http2 in turns,
                    the same request to the same far end, which only parses frames
          windows   the engine with 1, 20, 100 and 1000 streams, and with 10 connections
          latency   the engine against mock-push, which checks every request, with 50 ms from
                    request to answer: share of streams / latency, 1 and 10 connections
          memory    growth of the engine's peak memory from 1 to 10 times a million pushes
          once      --pushes distinct tokens over one TLS connection to mock-push, each received
                    exactly once

        """

    private let options: Options
    private let workshop: PushWorkshop
    private let pushes: Int

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(arguments, known: ["pushes", "rounds", "only", "directory"])
        let rows: [(name: String, run: (PushBenchmark) -> Bool)] = [
            ("paired", { $0.paired() }), ("windows", { $0.windows() }),
            ("latency", { $0.latency() }), ("memory", { $0.memory() }), ("once", { $0.once() }),
        ]
        let chosen = rows.filter { options["only"] == nil || options["only"] == $0.name }
        guard options.unknown == nil, !chosen.isEmpty else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        guard let workshop = PushWorkshop(in: options["directory"] ?? "/var/tmp") else {
            print("bench: openssl makes no certificate; install the package openssl")
            return 1
        }
        let benchmark = PushBenchmark(
            options: options, workshop: workshop,
            pushes: options.number("pushes", default: 1_000_000))
        var isGood = true
        for row in chosen where !row.run(benchmark) {
            print("bench: \(row.name) failed")
            isGood = false
        }
        fflush(nil)
        return isGood ? 0 : 1
    }

    // MARK: Rows

    private func paired() -> Bool {
        guard let peer = FarEnd(.answerer(latency: 0, streams: 1000), workshop),
            let rivals = PushRivals(workshop, port: peer.port)
        else { return false }
        var (ours, indexed): ([Measurement], [Measurement]) = ([], [])
        var (h2load, node): ([Measurement], [Measurement]) = ([], [])
        var making = 0.0
        let hasH2load = PushRivals.isInstalled("h2load")
        let hasNode = PushRivals.isInstalled("node")
        for _ in 0..<max(1, options.number("rounds", default: 3)) {
            guard let run = send(to: peer, pushes) else { return false }
            ours.append(run.measurement)
            making = run.makingSeconds / Double(pushes) * 1e6
            guard let run = send(to: peer, pushes, flags: ["--index-authorization"]) else {
                return false
            }
            indexed.append(run.measurement)
            if hasH2load {
                guard let run = rivals.h2load(port: peer.port, count: pushes) else { return false }
                h2load.append(run)
            }
            if hasNode {
                let count = max(1, pushes / 20)
                guard let run = rivals.node(port: peer.port, count: count) else { return false }
                node.append(run)
            }
        }
        say("one TLS connection, 1000 streams, \(pushes) pushes, best of \(ours.count) rounds")
        line("engine", ours, "of it making tokens \(hundredths(making)) us")
        line("engine, indexed", indexed, "authorization remembered by the server: not for Apple")
        line("h2load", h2load, ratio(h2load, to: ours), "not installed: package nghttp2-client")
        line("node http2", node, ratio(node, to: ours), "not installed: package nodejs")
        return true
    }

    private func windows() -> Bool {
        guard let peer = FarEnd(.answerer(latency: 0, streams: 1000), workshop) else {
            return false
        }
        say("by window, one TLS connection")
        for (streams, share) in [(1, 50), (20, 5), (100, 1), (1000, 1)] {
            guard let run = send(to: peer, pushes / share, streams: streams) else { return false }
            line(streams == 1 ? "1 stream" : "\(streams) streams", [run.measurement])
        }
        guard let run = send(to: peer, 5 * pushes, connections: 10) else { return false }
        line("10 connections", [run.measurement], "1000 streams each")
        return true
    }

    private func latency() -> Bool {
        say("50 ms from request to answer, 1000 streams a connection, against mock-push over TLS")
        for connections in [1, 10] {
            let count = 200_000 * connections
            guard let mock = FarEnd(.mock(["--latency", "50"]), workshop),
                let run = send(to: mock, count, connections: connections)
            else { return false }
            let possible = 1000.0 / 0.050 * Double(connections)
            let share = run.measurement.rate / possible * 100
            line(
                "\(connections) connection" + (connections > 1 ? "s" : ""), [run.measurement],
                "\(tenths(share)) % of \(Int(possible))/s")
            if !isExact(mock, count) { return false }
        }
        return true
    }

    private func memory() -> Bool {
        guard let peer = FarEnd(.answerer(latency: 0, streams: 1000), workshop),
            let run = send(to: peer, 10_000_000)
        else { return false }
        say("memory, 10000000 pushes over one TLS connection")
        line("engine", [run.measurement])
        say(
            "  peak RSS           \(run.earlyPeak) KiB at 1 M, \(run.peak) KiB at 10 M: "
                + "grew by \(run.peak - run.earlyPeak) KiB")
        return true
    }

    private func once() -> Bool {
        guard let mock = FarEnd(.mock([]), workshop), let run = send(to: mock, pushes) else {
            return false
        }
        say("\(pushes) distinct tokens over one TLS connection to mock-push, which checks all")
        line("engine", [run.measurement])
        return isExact(mock, pushes)
    }

    // MARK: Parts

    private func send(
        to peer: FarEnd, _ count: Int, connections: Int = 1, streams: Int = 1000,
        flags: [String] = []
    ) -> PushRun? {
        PushRun(
            workshop, port: peer.port, count, connections: connections, streams: streams,
            flags: flags)
    }

    /// Ends the mock, and holds its report against what was sent.
    private func isExact(_ mock: FarEnd, _ count: Int) -> Bool {
        guard let report = mock.report() else { return false }
        let expected = [
            "\"requests\":\(count),", "\"delivered\":\(count),", "\"distinct\":\(count),",
            "\"duplicates\":0,", "\"refusals\":{}", "\"violations\":{}",
            "\"answers\":{\"200\":\(count)}",
        ]
        guard expected.allSatisfy({ report.line.contains($0) }) else {
            print("bench: mock-push reports \(report.line)")
            return false
        }
        let cost = report.processorSeconds / Double(count) * 1e6
        say(
            "  mock-push          \(hundredths(cost)) us CPU a push, \(count) distinct, "
                + "0 duplicates, 0 refused, 0 violations")
        return true
    }

    private func ratio(_ rivals: [Measurement], to ours: [Measurement]) -> String {
        "\(tenths(cost(rivals) / cost(ours))) times the engine's"
    }

    /// Microseconds of CPU a push, the best.
    private func cost(_ runs: [Measurement]) -> Double {
        runs.compactMap { run in
            run.processorSeconds.map { $0 / Double(run.operations) * 1e6 }
        }.min() ?? .nan
    }

    private func line(
        _ name: String, _ runs: [Measurement], _ note: String = "", _ absence: String = ""
    ) {
        let head = "  \(name)" + String(repeating: " ", count: max(1, 19 - name.count))
        guard !runs.isEmpty else { return say(head + absence) }
        let rate = Int(runs.map(\.rate).max() ?? 0)
        let text = "\(hundredths(cost(runs))) us CPU a push, \(rate)/s"
        say(head + text + (note.isEmpty ? "" : ", \(note)"))
    }

    /// Rows come as they are done.
    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
