import Glibc
import WakePush

/// A push service that speaks as APNs does, checks what it is sent, goes wrong on demand, and says
/// what it has seen.
@main
enum Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--help"] || arguments == ["-h"] {
            write(Options.usage, to: 1)
            exit(0)
        }
        guard let options = Options(arguments) else {
            write(Options.usage, to: 2)
            exit(2)
        }
        do {
            let server = try MockServer(options)
            write("listening on port \(server.port)\n", to: 1)
            let report = server.run()
            if let path = options.report { try keep(report, in: path) }
            write(report, to: 1)
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
