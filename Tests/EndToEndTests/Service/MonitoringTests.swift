import Foundation
import TestSupport
import Testing

/// `Deploy/monitoring` with Debian's Prometheus and the real service.
@Suite("Metrics and alerts", .timeLimit(.minutes(5)))
struct MonitoringTests {
    private static let prometheus = "/usr/bin/prometheus"
    private static let isInstalled = FileManager.default.isExecutableFile(atPath: prometheus)
    private static let rules = Repository.root.appending(
        path: "Deploy/monitoring/reveille-alerts.yml")

    private func service() async throws -> (ServiceUnderTest, WireServer) {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(
            sections: "\n[metrics]\nlisten = 127.0.0.1:\(reserved.port)\n")
        return (service, reserved)
    }

    private func answer(_ port: UInt16, _ line: String) throws -> (Int, String) {
        let client = try LoopbackClient(port: port)
        try client.send(
            "\(line) HTTP/1.1\r\nHost: metrics.example\r\nContent-Length: 0\r\n\r\n")
        let response = try client.receiveResponse()
        return (response.status, response.text)
    }

    @Test("the listener for metrics answers with them and with health, and does nothing else")
    func readOnly() async throws {
        let (service, reserved) = try await service()
        let metrics = try answer(reserved.port, "GET /metrics")
        #expect(metrics.0 == 200 && metrics.1.hasSuffix("# EOF\n"))
        #expect(metrics.1.contains("reveille_trouble{kind=\"feed-expired\"} 0\n"))
        #expect(try answer(reserved.port, "GET /health") == (200, "ok\n"))
        #expect(try answer(reserved.port, "POST /metrics").0 == 405)
        for line in [
            "POST /v1/rotation", "GET /v1/rotation", "DELETE /v1/broadcast", "GET /v1/status",
            "POST /v1/broadcast", "PUT /v1/audit", "GET /", "GET /v1/registration",
        ] {
            #expect(try answer(reserved.port, line).0 == 404, "\(line)")
        }
        let check = try await service.command("check")
        #expect(check.output.contains("127.0.0.1:\(reserved.port), read-only"), "\(check.output)")
    }

    @Test(
        "the dashboard for Grafana asks for metrics that there are, as Prometheus understands it",
        .enabled(if: isInstalled, "needs prometheus"))
    func dashboard() async throws {
        let file = Repository.root.appending(path: "Deploy/monitoring/reveille-grafana.json")
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let panels = try #require((document as? [String: Any])?["panels"] as? [[String: Any]])
        let expressions = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
            .compactMap { $0["expr"] as? String }
            .map {
                $0.replacing("$__rate_interval", with: "5m").replacing("$instance", with: ".*")
            }
        #expect(expressions.count > 30)
        let directory = try TemporaryDirectory()
        var rules = "groups:\n  - name: dashboard\n    rules:\n"
        for (number, expression) in expressions.enumerated() {
            rules += "      - record: panel:\(number)\n        expr: '\(expression)'\n"
        }
        let path = directory.path + "/dashboard.yml"
        try rules.write(toFile: path, atomically: true, encoding: .utf8)
        let check = try await RunningProgram.run(
            path: "/usr/bin/promtool", ["check", "rules", path])
        #expect(check.status == 0, "\(check.output)")
        let (service, reserved) = try await service()
        let metrics = try answer(reserved.port, "GET /metrics").1
        let asked = Set(
            expressions.flatMap { $0.matches(of: /reveille_\w+/).map { String($0.0) } })
        for name in asked {
            #expect(
                metrics.contains("\n\(name) ") || metrics.contains("\n\(name){"), "\(name)")
        }
        #expect(await service.stop() == 0)
    }

    /// Prometheus with the shipped rules, but without waiting before an alert.
    private func start(
        _ directory: TemporaryDirectory, _ target: UInt16, alerts: UInt16
    ) throws
        -> RunningProgram
    {
        let rules = try String(contentsOf: Self.rules, encoding: .utf8)
            .replacing(/for: \d+[mh]/) { _ in "for: 0s" }
        try rules.write(
            toFile: directory.path + "/reveille-alerts.yml", atomically: true, encoding: .utf8)
        let shipped = Repository.root.appending(path: "Deploy/monitoring/prometheus.yml")
        let text =
            try String(contentsOf: shipped, encoding: .utf8)
            .replacing(
                "scrape_interval: 30s", with: "scrape_interval: 1s\n  evaluation_interval: 1s"
            )
            .replacing("127.0.0.1:9464", with: "127.0.0.1:\(target)")
                + """

                alerting:
                  alertmanagers:
                    - static_configs:
                        - targets: ["127.0.0.1:\(alerts)"]

                """
        let path = directory.path + "/prometheus.yml"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try RunningProgram(
            path: Self.prometheus,
            [
                "--config.file=\(path)", "--storage.tsdb.path=\(directory.path)/data",
                "--web.listen-address=127.0.0.1:0",
            ])
    }

    /// A server that takes alerts as Alertmanager does (its API v2), and keeps their names.
    private func alertmanager(_ alerts: Observed<Set<String>>) throws -> WireServer {
        try WireServer { peer in
            while let head = try? peer.receive(through: "\r\n\r\n"),
                let length = head.firstMatch(of: /Content-Length: (\d+)/),
                let body = try? peer.receive(exactly: Int(length.1) ?? 0)
            {
                let names = String(decoding: body, as: UTF8.self)
                    .matches(of: /"alertname":"(\w+)"/).map { String($0.1) }
                alerts.update { $0.formUnion(names) }
                try? peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    @Test(
        "Prometheus reads the metrics, and its alerts fire when their causes are there",
        .enabled(if: isInstalled, "needs prometheus"))
    func alerts() async throws {
        let check = try await RunningProgram.run(
            path: "/usr/bin/promtool", ["check", "rules", Self.rules.path])
        #expect(check.status == 0, "\(check.output)")
        let (service, reserved) = try await service()
        let directory = try TemporaryDirectory()
        let alerts = Observed<Set<String>>([])
        let manager = try alertmanager(alerts)
        defer { manager.refuse() }
        let prometheus = try start(directory, reserved.port, alerts: manager.port)
        defer { prometheus.signal(SIGKILL) }
        func fires(_ name: String) async throws {
            try await alerts.first { $0.contains(name) ? () : nil }
        }
        try FileManager.default.removeItem(
            atPath: service.directory.path + "/service/feed/head")
        try await fires("ReveilleFeed")
        try FileManager.default.removeItem(
            atPath: service.directory.path + "/service/keys/registration.key")
        try await fires("ReveilleStore")
        let admin = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let body = "{\"violations\":1,\"sha256\":\"\(String(repeating: "0", count: 64))\"}"
        try admin.send(
            "PUT /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(try admin.receiveResponse().status == 204)
        try await fires("ReveilleAudit")
        #expect(await service.stop() == 0)
        try await fires("ReveilleDown")
    }

    @Test(
        "the alert about pushes fires when the push service refuses the key",
        .enabled(if: isInstalled, "needs prometheus"))
    func pushes() async throws {
        let reserved = try WireServer.reservedPort()
        var choices = PushingService.Choices()
        choices.isKeyForeign = true
        choices.sections = "[metrics]\nlisten = 127.0.0.1:\(reserved.port)\n"
        let pushing = try await PushingService(choices)
        try pushing.register((0..<5).map { _ in TestDevice() })
        let directory = try TemporaryDirectory()
        let alerts = Observed<Set<String>>([])
        let manager = try alertmanager(alerts)
        defer { manager.refuse() }
        let prometheus = try start(directory, reserved.port, alerts: manager.port)
        defer { prometheus.signal(SIGKILL) }
        #expect(try await pushing.broadcast().status == 1)
        try await alerts.first { $0.contains("ReveillePushes") ? () : nil }
    }
}
