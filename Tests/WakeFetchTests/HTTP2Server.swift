import Glibc

@testable import WakeFetch

/// `nghttpd` on a free loopback port, until stopped.
struct HTTP2Server {
    /// What it wrote about its clients.
    struct Log {
        var connections = 0
        var requests = 0
        /// `name: value` of every request field, in order.
        var fields: [String] = []
    }

    static let isInstalled = Child(["nghttpd", "--version"])?.wait() == 0

    let port: UInt16
    private let child: Child
    private let output: ChildOutput

    /// nil if it did not start.
    init?(
        _ authority: CertificateAuthority, certificate: String, name: String,
        options: [String] = []
    ) {
        let key = authority.folder.file("\(name).key")
        let command = ["nghttpd", "-a", "127.0.0.1"] + options + ["0", key, certificate]
        guard let child = Child(command) else { return nil }
        output = ChildOutput(child)
        // It names the port it was given, which is 0, and not even that unless it is verbose.
        let deadline = ContinuousClock.now + .seconds(200)
        var found: UInt16?
        while found == nil, ContinuousClock.now < deadline {
            found = Self.listeningPort(of: child.process)
            sched_yield()
        }
        guard let port = found else { return nil }
        self.child = child
        self.port = port
    }

    /// Ends it and tells what it saw, if `-v` was among its options.
    func stop() -> Log {
        kill(child.process, SIGKILL)
        var log = Log()
        var seen: Set<Substring> = []
        for line in output.lines() {
            guard let mark = line.firstRange(of: "[id="),
                let end = line[mark.upperBound...].firstIndex(of: "]")
            else { continue }
            seen.insert(line[mark.upperBound..<end])
            if line.contains("recv HEADERS frame") { log.requests += 1 }
            guard let field = line.firstRange(of: "recv (stream_id="),
                let start = line[field.upperBound...].firstRange(of: ") ")
            else { continue }
            let text = String(line[start.upperBound...])
            log.fields.append(text)
        }
        log.connections = seen.count
        child.terminate()
        return log
    }

    /// proc(5): the process's sockets by their inodes, and what listens with them.
    private static func listeningPort(of process: pid_t) -> UInt16? {
        var inodes: Set<String> = []
        for descriptor in 0..<64 {
            var target = [CChar](repeating: 0, count: 64)
            let path = "/proc/\(process)/fd/\(descriptor)"
            guard unsafe readlink(path, &target, 63) > 0 else { continue }
            let text = String(decoding: target.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            if text.hasPrefix("socket:[") { inodes.insert(String(text.dropFirst(8).dropLast())) }
        }
        guard let file = unsafe fopen("/proc/net/tcp", "r") else { return nil }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while unsafe fgets(&line, 512, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            // sl, local, remote, state (0A listens), ..., inode
            let parts = text.split(separator: " ")
            guard parts.count > 9, parts[3] == "0A", inodes.contains(String(parts[9])),
                let port = parts[1].split(separator: ":").last
            else { continue }
            return UInt16(port, radix: 16)
        }
        return nil
    }
}

/// Reads what a child writes as it comes: else a full pipe would stop the child.
private final class ChildOutput: Sendable {
    private let gathered = Seen<String>()
    private let end = Gate()

    init(_ child: Child) {
        startThread { [gathered, end] in
            while let line = child.line() { gathered.note(line) }
            end.open()
        }
    }

    /// All of them, once the child is gone.
    func lines() -> [String] {
        end.pass()
        return gathered.all
    }
}
