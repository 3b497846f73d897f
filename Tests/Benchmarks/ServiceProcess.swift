import CLinux
import Glibc

/// A service started for one round: a shell command that ends in `exec`, told its directory by the
/// variable `BENCH_DIRECTORY`, listening on the Unix socket `public.sock` there.
final class ServiceProcess {
    let process: pid_t
    let address: ServiceAddress

    /// - Returns: nil when it does not listen within ten seconds.
    init?(command: String, directory: String) {
        address = .unix(directory + "/public.sock")
        unsafe setenv("BENCH_DIRECTORY", directory, 1)
        let words: [String] = ["/bin/sh", "-c", command]
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process: pid_t = 0
        // Threads of the concurrency runtime block signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let number = unsafe posix_spawn(
            &process, words[0], nil, &attributes, &arguments, environ)
        guard number == 0 else { return nil }
        self.process = process
        for _ in 0..<1000 {
            if let descriptor = address.connect() {
                close(descriptor)
                return
            }
            poll(nil, 0, 10)
        }
        stop()
        return nil
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        for _ in 0..<1000 {
            if unsafe waitpid(process, &status, WNOHANG) != 0 { return }
            poll(nil, 0, 10)
        }
        kill(process, SIGKILL)
        unsafe waitpid(process, &status, 0)
    }
}
