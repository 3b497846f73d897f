import Foundation
import TestSupport

/// Programs with another clock on their wall.
enum FakeTime {
    fileprivate static let path = "/usr/bin/faketime"

    /// Why tests that need it are skipped.
    static let isInstalled =
        FileManager.default.isExecutableFile(atPath: path) && WallClock.compiler != nil

    /// Runs a command of the client to its end.
    /// - Parameter offset: such as `+25h` or `-1y`.
    static func run(
        _ client: ClientUnderTest, _ offset: String, _ words: String...
    ) async throws -> (status: Int32, output: String) {
        let clock = try await WallClock.shared.library()
        return try await RunningProgram.run(
            path: "/usr/bin/env",
            ["LD_PRELOAD=\(clock)", "WALL_CLOCK=\(WallClock.seconds(offset))", Mounts.client]
                + words + ["--state", client.state])
    }

    /// Runs a command of the service to its end.
    static func service(
        _ offset: String, _ words: String...
    ) async throws -> (status: Int32, output: String) {
        let program = RunningProgram.folder.appending(path: "reveille").path
        return try await RunningProgram.run(path: path, ["-f", offset, program] + words)
    }

    /// The clock of a service that a test sets while the service runs.
    struct Clock {
        private let file: String

        init(_ file: String) throws {
            self.file = file
            try set("+0")
        }

        func set(_ offset: String) throws {
            try Data(offset.utf8).write(to: URL(filePath: file), options: .atomic)
        }

        /// Starts the service; it ends with the program that is given back.
        func serve(_ configuration: String) throws -> RunningProgram {
            let program = RunningProgram.folder.appending(path: "reveille").path
            return try RunningProgram(
                path: FakeTime.path,
                [
                    "-m", "-f", "+0", "/usr/bin/env", "-u", "FAKETIME",
                    "FAKETIME_TIMESTAMP_FILE=\(file)", "FAKETIME_NO_CACHE=1", "setpriv",
                    "--pdeathsig", "KILL", program, "serve", "--config", configuration,
                ])
        }
    }
}

/// The wall clock alone, set by a library that is loaded before all others. Debian's `faketime`
/// (0.9.10) moves what `timerfd_settime` gets for every clock, and timers then never fire.
private actor WallClock {
    static let shared = WallClock()
    static let compiler = InstalledPrograms.path("clang") ?? InstalledPrograms.path("cc")

    private var directory: TemporaryDirectory?

    /// - Parameter offset: hours, days or years, such as `-1y`.
    static func seconds(_ offset: String) -> Int {
        let unit = ["h": 3600, "d": 86_400, "y": 365 * 86_400][offset.suffix(1)] ?? 1
        return (Int(offset.dropLast()) ?? 0) * unit
    }

    /// The library's path; it is compiled when it is first needed.
    func library() async throws -> String {
        if let directory { return directory.path + "/clock.so" }
        let made = try TemporaryDirectory()
        let (source, library) = (made.path + "/clock.c", made.path + "/clock.so")
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let (status, output) = try await RunningProgram.run(
            path: Self.compiler ?? "cc", ["-shared", "-fPIC", "-o", library, source])
        guard status == 0 else { throw TestFailure(output) }
        directory = made
        return library
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static time_t offset;

        __attribute__((constructor)) static void set(void) {
            const char *text = getenv("WALL_CLOCK");
            offset = text ? atol(text) : 0;
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
                now->tv_sec += offset;
            return result;
        }

        int gettimeofday(struct timeval *now, void *zone) {
            struct timespec precise;
            (void)zone;
            clock_gettime(CLOCK_REALTIME, &precise);
            now->tv_sec = precise.tv_sec;
            now->tv_usec = precise.tv_nsec / 1000;
            return 0;
        }

        time_t time(time_t *store) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (store) *store = now.tv_sec;
            return now.tv_sec;
        }

        """
}
