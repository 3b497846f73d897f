import Glibc
import WakePush

/// A push service that speaks as APNs does, checks what it is sent, goes wrong on demand, and says
/// what it has seen.
@main
enum Main {
    static func main() {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            write(Options.usage, to: 2)
            exit(2)
        }
        do {
            let server = try MockServer(options)
            write("listening on port \(server.port)\n", to: 1)
            write(server.run(), to: 1)
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

    /// One write: a reader sees whole lines.
    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
        }
    }
}
