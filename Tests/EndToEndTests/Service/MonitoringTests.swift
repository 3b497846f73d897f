import Foundation
import TestSupport
import Testing

/// `Deploy/monitoring` with Debian's Prometheus and the real service.
@Suite("Metrics for Prometheus", .timeLimit(.minutes(5)))
struct MonitoringTests {
    private func service() async throws -> (ServiceUnderTest, WireServer) {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(
            sections: "\n[metrics]\nlisten = 127.0.0.1:\(reserved.port)\n")
        return (service, reserved)
    }

    private func answer(
        _ port: UInt16, _ line: String, fields: String = "Host: 127.0.0.1:9464\r\n"
    ) throws -> (Int, String) {
        let client = try LoopbackClient(port: port)
        try client.send("\(line) HTTP/1.1\r\n\(fields)Content-Length: 0\r\n\r\n")
        let response = try client.receiveResponse()
        return (response.status, response.text)
    }

    @Test("the listener for metrics answers with them and with health, and does nothing else")
    func readOnly() async throws {
        let (service, reserved) = try await service()
        let metrics = try answer(reserved.port, "GET /metrics")
        #expect(metrics.0 == 200 && metrics.1.contains("# HELP reveille_requests_total "))
        // As Prometheus asks.
        let open = try answer(
            reserved.port, "GET /metrics",
            fields: "Host: 127.0.0.1:9464\r\nAccept: application/openmetrics-text;version=1.0.0,"
                + "text/plain;version=0.0.4;q=0.5\r\n")
        #expect(open.0 == 200 && open.1.hasSuffix("# EOF\n"))
        #expect(open.1.contains("# HELP reveille_requests complete"))
        #expect(metrics.1.contains("reveille_trouble{kind=\"feed-expired\"} 0\n"))
        #expect(try answer(reserved.port, "GET /health") == (200, "ok\n"))
        #expect(try answer(reserved.port, "POST /metrics").0 == 405)
        for line in [
            "POST /v1/rotation", "GET /v1/rotation", "DELETE /v1/broadcast", "GET /v1/status",
            "POST /v1/broadcast", "PUT /v1/audit", "GET /", "GET /v1/registration",
        ] {
            #expect(try answer(reserved.port, line).0 == 404, "\(line)")
        }
        // What a web page is given by the browser, also where its own name leads here.
        let pages = [
            "Host: evil.example\r\n", "Host: localhost\r\nOrigin: https://evil.example\r\n",
        ]
        for fields in pages {
            for line in ["GET /metrics", "GET /health"] {
                #expect(try answer(reserved.port, line, fields: fields).0 == 403, "\(fields)")
            }
        }
        let check = try await service.command("check")
        #expect(check.output.contains("127.0.0.1:\(reserved.port), read-only"), "\(check.output)")
    }

    @Test(
        "promtool has nothing to object to in the metrics",
        .enabled(if: InstalledPrograms.path("promtool") != nil, "needs prometheus"))
    func linted() async throws {
        let (service, reserved) = try await service()
        let promtool = try #require(InstalledPrograms.path("promtool"))
        let metrics = try answer(reserved.port, "GET /metrics").1
        func lint(_ text: String) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                path: promtool, ["check", "metrics"], input: Array(text.utf8))
        }
        let answer = try await lint(metrics)
        #expect(answer.status == 0 && answer.output.isEmpty, "\(answer.output)")
        #expect(
            try await lint(metrics.replacing("# HELP reveille_requests_total", with: "# X")).status
                != 0)
        #expect(await service.stop() == 0)
    }

    @Test(
        "the dashboard for Grafana asks for metrics that there are, as Prometheus understands it",
        .enabled(if: PrometheusUnderTest.isInstalled, "needs prometheus"))
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
}
