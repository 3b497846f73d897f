import TestSupport

/// What a push costs, and how many there are a second.
enum PushRows {
    static let all: [Benchmark] = [
        window, latency,
    ]

    private static let window = Benchmark(
        "push", "a push over one TLS connection, 1,000 streams", unit: "pushes",
        sizes: Sizes(1_000_000, full: 5_000_000, growth: 100_000), by: .processorTime
    ) { setting in
        let workshop = try workshop(setting)
        guard let peer = FarEnd(.answerer(latency: 0, streams: 1000), workshop) else {
            throw BenchFailure("the far end does not start")
        }
        let count = setting.size
        var arms = [
            Arm(.ours, "engine") { _ in try send(workshop, peer, count) },
            Arm(.ceiling, "the same bytes through TLS") { _ in
                try Measurement(
                    reportOf: [
                        CommandLine.arguments[0], "push-bytes", "--port", "\(peer.port)",
                        "--authority", workshop.certificate, "--key", workshop.signingKey,
                        "--token-file", workshop.providerToken, "--pushes", "\(count)",
                    ])
            },
        ]
        if setting.hasPeers { arms += try rivals(workshop, peer, count, setting) }
        return arms
    }

    private static let latency = Benchmark(
        "push-latency",
        "a push answered after 50 ms by a service that checks everything, 1,000 streams",
        unit: "pushes", sizes: Sizes(60_000, full: 200_000, growth: nil), by: .rate
    ) { setting in
        let workshop = try workshop(setting)
        return [
            Arm(.ours, "engine") { _ in
                guard let mock = FarEnd(.mock(["--latency", "50"]), workshop) else {
                    throw BenchFailure("mock-push does not start")
                }
                let measured = try send(workshop, mock, setting.size)
                try checkReport(of: mock, setting.size)
                return measured
            },
            Arm(.ceiling, "streams divided by 50 ms") { _ in
                Measurement(
                    operations: setting.size, seconds: Double(setting.size) * 0.050 / 1000)
            },
        ]
    }

    static func workshop(_ setting: Setting) throws -> PushWorkshop {
        guard let workshop = PushWorkshop(in: setting.directory) else {
            throw BenchFailure("openssl makes no certificate; install the package openssl")
        }
        return workshop
    }

    private static func send(
        _ workshop: PushWorkshop, _ peer: FarEnd, _ count: Int
    ) throws -> Measurement {
        guard let run = PushRun(workshop, port: peer.port, count) else {
            throw BenchFailure("not every push was accepted")
        }
        return run.measurement
    }

    /// The mock must have received each push once, and found nothing wrong with any.
    private static func checkReport(of mock: FarEnd, _ count: Int) throws {
        let expected = [
            "\"requests\":\(count),", "\"delivered\":\(count),", "\"distinct\":\(count),",
            "\"duplicates\":0,", "\"refusals\":{}", "\"violations\":{}",
            "\"answers\":{\"200\":\(count)}",
        ]
        guard let report = mock.report(), expected.allSatisfy({ report.line.contains($0) }) else {
            throw BenchFailure("mock-push does not report each push once")
        }
    }

    private static func rivals(
        _ workshop: PushWorkshop, _ peer: FarEnd, _ count: Int, _ setting: Setting
    ) throws -> [Arm] {
        guard let rivals = PushRivals(workshop, port: peer.port) else {
            throw BenchFailure("no request for the others")
        }
        var arms: [Arm] = []
        func add(
            _ name: String, _ isThere: Bool, _ missing: String, _ run: @escaping () -> Measurement?
        ) {
            guard isThere else { return setting.skip("\(name): \(missing)") }
            arms.append(
                Arm(.peer, name) { _ in
                    guard let measured = run() else { throw BenchFailure("\(name) failed") }
                    return measured
                })
        }
        add("h2load", PushRivals.isInstalled("h2load"), "install the package nghttp2-client") {
            rivals.h2load(port: peer.port, count: count)
        }
        add("node's http2", PushRivals.isInstalled("node"), "install the package nodejs") {
            rivals.node(port: peer.port, count: max(1, count / 20))
        }
        let python = PythonPeer.with("aioapns", setting)
        add("aioapns", python != nil, "no aioapns of PyPI") {
            python?.aioapns(workshop, port: peer.port, count: max(1, count / 50))
        }
        return arms
    }
}
