private import Glibc
import TestSupport
import WakeSystem

/// Programs with packages of PyPI, run by the Python that has them: that of `.build/peers`, where
/// `Tests/check` puts such packages, or the system's.
struct PythonPeer {
    private let python: String
    private let directory: String

    /// nil where no Python has the package.
    static func with(_ package: String, _ setting: Setting) -> PythonPeer? {
        let own = Repository.absolute(".build/peers/bin/python3")
        let python = [own, "python3"].first { python in
            MeasuredProcess.run([
                "/bin/sh", "-c", "\"$0\" -c 'import \(package)' 2>/dev/null", python,
            ])
        }
        return python.map { PythonPeer(python: $0, directory: setting.directory) }
    }

    /// FastAPI, uvicorn and SQLite.
    static func registrations(_ setting: Setting) -> PythonPeer? {
        guard let peer = with("fastapi, uvicorn", setting) else {
            setting.skip("FastAPI with SQLite: no fastapi and uvicorn of PyPI")
            return nil
        }
        return peer
    }

    private static func script(_ name: String) -> String {
        Repository.absolute("Tests/Benchmarks/Peers/\(name)")
    }

    /// Pushes by aioapns.
    func aioapns(_ workshop: PushWorkshop, port: Int, count: Int) -> Measurement? {
        let words = [
            python, Self.script("aioapns-peer.py"), "\(port)", "\(count)", workshop.certificate,
            workshop.signingKey, PushWorkshop.keyID, PushWorkshop.teamID, PushWorkshop.topic,
        ]
        return PushRivals.measure(words, count: count)
    }

    /// New registrations over HTTP on a Unix socket, by the same client as ours.
    func registrations(connections: Int, count: Int) throws -> Measurement {
        let place = StorePlace(in: directory)
        let socket = place.path + "/public.sock"
        let words = [
            python, Self.script("fastapi-peer.py"), socket, place.path + "/registrations.db",
        ]
        guard let process = MeasuredProcess(words) else {
            throw BenchFailure("Python does not start")
        }
        defer { process.terminate() }
        let address = ServiceAddress.unix(socket)
        for _ in 0..<1000 {
            if let descriptor = address.connect() {
                close(descriptor)
                return try HTTPLoad.run(
                    address, connections: connections, operations: max(connections, count),
                    process: Int(process.identifier))
            }
            poll(nil, 0, 10)
        }
        throw BenchFailure("FastAPI does not listen")
    }
}
