import Glibc
import WakePush

/// A push service that speaks as the real ones do, checks what it is sent, goes wrong on demand,
/// and says what it has seen.
@main
enum Main {
    private struct Row {
        let name: String
        let usage: String
        /// Nil after flags that are not its own.
        let make: ([String]) throws -> HTTPService?
    }

    private static var rows: [Row] {
        [
            Row(name: "apns", usage: APNsOptions.usage) {
                try APNsOptions($0).map(APNsService.init)
            },
            Row(name: "fcm", usage: FCMOptions.usage) { FCMOptions($0).map(FCMService.init) },
            Row(name: "webpush", usage: WebPushOptions.usage) {
                WebPushOptions($0).map(WebPushService.init)
            },
        ]
    }

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        var name = "apns"
        if let place = arguments.firstIndex(of: "--service"), place + 1 < arguments.count {
            name = arguments[place + 1]
            arguments.removeSubrange(place...place + 1)
        }
        guard let row = rows.first(where: { $0.name == name }) else { usage(rows, status: 2) }
        if arguments.contains("--help") || arguments == ["-h"] { usage(rows, status: 0) }
        do {
            guard let service = try row.make(arguments) else { usage([row], status: 2) }
            let server = try MockServer(service)
            let lines = zip(service.endpoints, server.ports).map { endpoint, port in
                "listening on \(endpoint.name) \(port)\n"
            }
            write(lines.joined(), to: 1)
            write(server.run(), to: 1)
        } catch {
            let failure = (error as? SigningError)?.message ?? (error as? MockFailure)?.message
            write("mock-push: \(failure ?? "failed")\n", to: 2)
            exit(1)
        }
    }

    private static func usage(_ rows: [Row], status: Int32) -> Never {
        write(rows.map(\.usage).joined(separator: "\n"), to: status == 0 ? 1 : 2)
        exit(status)
    }

    /// One write: a reader sees whole lines.
    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
        }
    }
}
