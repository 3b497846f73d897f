private import Foundation
private import Glibc
import TestSupport

/// The whole service as `reveille init` makes it, on a Unix socket in a directory of its own, with
/// room for more connections and event streams than any row opens. It serves APNs, so that push
/// tokens can be registered, but nothing is sent: there is no heartbeat and nobody at the far end.
final class BenchService {
    let place: StorePlace
    private let pair: SigningKeyPair
    private var program: RunningProgram?

    var files: FilledStores.Files { .init(in: place.path + "/service") }
    var address: ServiceAddress { .unix(place.path + "/public.sock") }
    var process: Int { Int(program?.identifier ?? 0) }
    private var configuration: String { place.path + "/service/reveille.conf" }

    init(in directory: String) async throws {
        place = StorePlace(in: directory)
        pair = try SigningKeyPair()
        let made = try await RunningProgram.run("reveille", ["init", place.path + "/service"])
        guard made.status == 0 else { throw BenchFailure(made.output) }
        var text = try String(contentsOfFile: configuration, encoding: .utf8)
        text = text.replacing(
            "listen = 127.0.0.1:8080",
            with: "listen = unix:\(place.path)/public.sock\nstreams = 100000")
        text += "\n[store]\nmegabytes = 65536\n[broadcast]\nheartbeat = off\n"
        text += pair.section("host = 127.0.0.1", "port = 9", "plain = on")
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    /// A file of the folder that this program was built into.
    static func file(_ name: String) -> String {
        RunningProgram.folder.appending(path: name).path
    }

    /// Starts it, and waits until it listens.
    func start(_ environment: [String: String] = [:]) async throws {
        let program = try RunningProgram(
            "reveille", ["serve", "--config", configuration], environment: environment)
        self.program = program
        for _ in 0..<6000 {
            if let descriptor = address.connect() {
                close(descriptor)
                return
            }
            guard program.end == nil else { break }
            poll(nil, 0, 10)
        }
        throw BenchFailure("the service does not listen: \(program.output.suffix(500))")
    }

    func stop() async throws {
        guard let program else { return }
        program.signal(SIGTERM)
        guard await program.exit() == 0 else { throw BenchFailure("the service did not stop well") }
        self.program = nil
    }

    /// An operator's command.
    func command(_ words: String...) async throws {
        let done = try await RunningProgram.run("reveille", words + ["--config", configuration])
        guard done.status == 0 else { throw BenchFailure(done.output) }
    }

    /// The counters of `reveille status --json`.
    func counters() throws -> [String: Int] {
        let answer = try LoopbackClient(path: adminSocket).exchange("GET", "/v1/status")
        let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return (object ?? [:]).compactMapValues { $0 as? Int }
    }

    var adminSocket: String { place.path + "/service/admin.sock" }
}
