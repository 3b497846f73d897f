import Glibc
import WakePush

/// A push service that speaks as the real ones do, checks what it is sent, goes wrong on demand,
/// and says what it has seen.
@main
enum Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let chosen = ServiceTable.choose(arguments)
        if arguments.contains("--help") || arguments == ["-h"] {
            let isAll = !arguments.contains("--service")
            write(isAll ? ServiceTable.usage : chosen?.row.usage ?? ServiceTable.usage, to: 1)
            exit(0)
        }
        do {
            guard let (row, rest) = chosen, let served = try row.make(rest) else {
                write(chosen?.row.usage ?? ServiceTable.usage, to: 2)
                exit(2)
            }
            try serve(served)
        } catch let failure as MockFailure {
            write("mock-push: \(failure.message)\n", to: 2)
            exit(1)
        } catch let failure as SigningError {
            write("mock-push: \(failure.message)\n", to: 2)
            exit(1)
        } catch {
            write("mock-push: failed\n", to: 2)
            exit(1)
        }
    }

    private static func serve(_ served: ServiceTable.Served) throws {
        let server = try MockServer(served.service)
        let lines = zip(served.service.endpoints, server.ports).map { endpoint, port in
            "listening on \(endpoint.name) \(port)\n"
        }
        write(lines.joined(), to: 1)
        let report = server.run()
        if let path = served.report { try keep(report, in: path) }
        write(report, to: 1)
    }

    private static func keep(_ report: String, in path: String) throws(MockFailure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw MockFailure("cannot write \(path)") }
        write(report, to: descriptor)
        close(descriptor)
    }

    /// One write: a reader sees whole lines.
    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
        }
    }
}
