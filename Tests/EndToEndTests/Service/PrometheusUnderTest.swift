import Foundation
import TestSupport

/// Debian's Prometheus with the shipped configuration and rules, but without waiting before an
/// alert, and a server that takes its alerts as Alertmanager does.
final class PrometheusUnderTest {
    private static let path = "/usr/bin/prometheus"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
    static let rules = Repository.root.appending(path: "Deploy/monitoring/reveille-alerts.yml")

    private let directory: TemporaryDirectory
    /// Each name of an alert, followed by a space and its kind of trouble if it has one.
    private let alerts = Observed<Set<String>>([])
    private let manager: WireServer
    private let program: RunningProgram

    /// - Parameter target: the port of the service's metrics.
    init(_ target: UInt16) throws {
        directory = try TemporaryDirectory()
        let rules = try String(contentsOf: Self.rules, encoding: .utf8)
            .replacing(/for: \d+[mh]/) { _ in "for: 0s" }
        try rules.write(
            toFile: directory.path + "/reveille-alerts.yml", atomically: true, encoding: .utf8)
        manager = try Self.alertmanager(alerts)
        let text =
            try Repository.text("Deploy/monitoring/prometheus.yml")
            .replacing(
                "scrape_interval: 30s", with: "scrape_interval: 1s\n  evaluation_interval: 1s"
            )
            .replacing("127.0.0.1:9464", with: "127.0.0.1:\(target)")
                + """

                alerting:
                  alertmanagers:
                    - static_configs:
                        - targets: ["127.0.0.1:\(manager.port)"]

                """
        let path = directory.path + "/prometheus.yml"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        program = try RunningProgram(
            path: Self.path,
            [
                "--config.file=\(path)", "--storage.tsdb.path=\(directory.path)/data",
                "--web.listen-address=127.0.0.1:0",
            ])
    }

    deinit { manager.refuse() }

    /// A server that takes alerts by Alertmanager's API v2, and keeps their names.
    private static func alertmanager(_ alerts: Observed<Set<String>>) throws -> WireServer {
        try WireServer { peer in
            while let head = try? peer.receive(through: "\r\n\r\n"),
                let length = head.firstMatch(of: /Content-Length: (\d+)/),
                let body = try? peer.receive(exactly: Int(length.1) ?? 0)
            {
                let names = String(decoding: body, as: UTF8.self)
                    .matches(of: /"alertname":"(\w+)"([^}]*)/).map { match in
                        let kind = match.2.firstMatch(of: /"kind":"([\w-]+)"/)
                        return match.1 + (kind.map { " \($0.1)" } ?? "")
                    }
                alerts.update { $0.formUnion(names.map(String.init)) }
                try? peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    /// Waits until an alert fires.
    /// - Parameter name: with the kind of trouble where it has one.
    func fires(_ name: String) async throws {
        try await alerts.first { $0.contains(name) ? () : nil }
    }

    /// The alerts that have fired up to now.
    var fired: Set<String> { alerts.value }
}
