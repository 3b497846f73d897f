import Foundation
import TestSupport
import Testing

@Suite(
    "libreveille behind a relay", .timeLimit(.minutes(5)),
    .enabled(if: !Sanitizer.isActive, "programs without the sanitizer cannot load it"),
    .enabled(if: ObliviousRelay.program != nil, ObliviousRelay.missing))
struct ObliviousLibraryTests {
    private static let script = #"""
        import signal
        import sys
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        sys.path.insert(0, sys.argv[1])
        import reveille

        def client(directory, relay):
            return reveille.Client(
                sys.argv[2], sys.argv[3], directory, lambda match: True, service=sys.argv[4],
                oblivious=relay)

        # Registered at once, though no head was seen: then read, and given up.
        one = client(sys.argv[6] + "/one", sys.argv[5])
        one.register(reveille.APNS, "ab" * 32)
        one.reconcile()
        assert one.status().registration == reveille.REGISTERED, one.status().registration_failure
        print("registered", flush=True)
        signal.sigwait([signal.SIGUSR1])
        one.unregister()
        one.reconcile()
        assert one.status().registration == reveille.UNREGISTERED
        one.close()

        # The service's own port is no relay: it answers, and what it says is not believed.
        two = client(sys.argv[6] + "/two", sys.argv[4] + "/health")
        two.register(reveille.APNS, "ab" * 32)
        two.reconcile()
        failure = two.status().registration_failure
        print("failure", failure, reveille.error_text(failure), flush=True)
        two.close()
        """#

    @Test("a program in Python registers through it, and is told when it is none")
    func python() async throws {
        let (place, directory) = (try await ObliviousPlace(), try TemporaryDirectory())
        let library = directory.path + "/libreveille.so.0"
        try FileManager.default.createSymbolicLink(
            atPath: library,
            withDestinationPath: RunningProgram.folder.appending(path: "liblibreveille.so").path)
        let program = try RunningProgram(
            path: "/usr/bin/env",
            [
                "LD_LIBRARY_PATH=\(directory.path)", "python3", "-c", Self.script,
                Repository.absolute("Tests/Examples/Python"), place.service.url + "/feed/",
                place.service.feedKey, place.service.url, place.relay.url, directory.path,
            ])
        _ = try await program.line(containing: "registered")
        #expect(try place.service.rows() == 1)
        program.signal(SIGUSR1)
        let line = try await program.line(containing: "failure")
        #expect(line.contains("failure 89 the relay answered in place of the service"), "\(line)")
        #expect(await program.exit() == 0, "\(program.output)")
        #expect(try place.service.rows() == 0)
        let status = try await place.service.command("status", "--json").output
        #expect(status.contains("\"registers_new\":1"), "\(status)")
    }
}
