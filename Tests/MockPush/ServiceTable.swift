/// The push services the mock can be.
struct ServiceTable {
    /// One of them, and where its report is kept.
    struct Served {
        let service: any Service
        let report: String?
    }

    struct Row {
        let name: String
        let usage: String
        /// Nil after flags that are not its own.
        let make: ([String]) throws -> Served?
    }

    static var rows: [Row] {
        [
            Row(name: "apns", usage: Options.usage) { arguments in
                guard let options = Options(arguments) else { return nil }
                return Served(service: try APNsService(options), report: options.report)
            },
            Row(name: "fcm", usage: head("fcm", FCMOptions.about) + FCMOptions.usage) { arguments in
                guard let options = FCMOptions(arguments) else { return nil }
                return Served(service: try FCMService(options), report: options.common.report)
            },
            Row(
                name: "webpush", usage: head("webpush", WebPushOptions.about) + WebPushOptions.usage
            ) { arguments in
                guard let options = WebPushOptions(arguments) else { return nil }
                return Served(service: WebPushService(options), report: options.common.report)
            },
            Row(
                name: "relay", usage: head("relay", RelayOptions.about) + RelayOptions.usage
            ) { arguments in
                guard let options = RelayOptions(arguments) else { return nil }
                return Served(service: RelayService(options), report: options.common.report)
            },
        ]
    }

    /// The row that `--service` names, apns without one, and what other arguments there are.
    static func choose(_ arguments: [String]) -> (row: Row, rest: [String])? {
        guard let place = arguments.firstIndex(of: "--service") else {
            return (rows[0], arguments)
        }
        var rest = arguments
        rest.remove(at: place)
        guard place < rest.count else { return nil }
        let name = rest.remove(at: place)
        return rows.first { $0.name == name }.map { ($0, rest) }
    }

    static var usage: String { rows.map(\.usage).joined(separator: "\n") }

    private static func head(_ name: String, _ about: String) -> String {
        "usage: mock-push --service \(name) [FLAG VALUE]…\n\n\(about)\n"
    }
}
