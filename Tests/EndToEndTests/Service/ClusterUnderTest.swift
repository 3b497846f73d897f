import Foundation
import TestSupport
import WakeModel

/// Services that hand deletions on to one another, behind a real haproxy with the file of
/// `Deploy/cluster`.
final class ClusterUnderTest {
    static let haproxy = InstalledPrograms.path("haproxy") ?? "/usr/sbin/haproxy"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: haproxy)

    private static let shipped = try? Repository.text("Deploy/cluster/haproxy.cfg")

    /// By the number that haproxy.cfg has for them.
    private(set) var shards: [Int: ServiceUnderTest] = [:]
    private let directory: TemporaryDirectory
    private let reserved: WireServer
    private let front: RunningProgram
    /// Has the file of the key that shards read when they start again.
    private let push: LoopbackAPNs
    /// The section that makes each shard a gateway of the same key.
    private let oblivious: String

    var port: UInt16 { reserved.port }

    /// - Parameters:
    ///   - count: of shards, the shipped file's three.
    ///   - push: where the wake-ups of all of them go.
    init(_ count: Int, _ push: LoopbackAPNs) async throws {
        self.push = push
        directory = try TemporaryDirectory()
        reserved = try WireServer.reservedPort()
        let key = directory.path + "/oblivious.key"
        let made = try await RunningProgram.run("reveille", ["keygen", "--kind", "ohttp", key])
        guard made.status == 0 else { throw TestFailure(made.output) }
        oblivious =
            "\n[oblivious]\nkey = \(key)\nupstream = unix:\(directory.path)/inner.sock\n"
        for number in 1...count { shards[number] = try await Self.shard(push, oblivious) }
        let path = directory.path + "/haproxy.cfg"
        try Self.configuration(shards, directory.path, reserved.port).write(
            toFile: path, atomically: true, encoding: .utf8)
        front = try RunningProgram(path: Self.haproxy, ["-W", "-db", "-f", path])
        _ = try await front.line(containing: "Loading success")
        try await tellPeers()
    }

    /// One service as Deploy/cluster/README.md has it; clients of a test all come from one network.
    private static func shard(
        _ push: LoopbackAPNs, _ oblivious: String
    ) async throws -> ServiceUnderTest {
        try await ServiceUnderTest(
            listen: "unix:http.sock",
            extra: "proxy-protocol = on\nconnections-per-address = 10000",
            sections: push.section + """

                [registration]
                new-per-prefix = 1000000
                new-per-day = 1000000000

                [broadcast]
                heartbeat = off

                """ + oblivious + "\n[cluster]\nlisten = unix:peers.sock\n", serving: .nothing)
    }

    /// Every shard that is up is told the listeners of all, its own among them.
    private func tellPeers() async throws {
        let peers = shards.values.map { "unix:\($0.directory.path)/service/peers.sock" }
        let line = "peers = \(peers.joined(separator: ", "))\n"
        for shard in shards.values {
            try shard.removeSection("cluster")
            let text = try String(contentsOfFile: shard.configuration, encoding: .utf8)
            try (text + "\n[cluster]\nlisten = unix:peers.sock\n" + line).write(
                toFile: shard.configuration, atomically: true, encoding: .utf8)
            let (status, output) = try await shard.command("reload")
            guard status == 0 else { throw TestFailure(output) }
        }
    }

    /// The shipped file with a line for each shard, and without caps: all clients are one address.
    private static func configuration(
        _ shards: [Int: ServiceUnderTest], _ directory: String, _ port: UInt16
    ) throws -> String {
        guard var text = shipped else { throw TestFailure("no Deploy/cluster/haproxy.cfg") }
        let servers = text.split(separator: "\n").filter { $0.hasPrefix("    server ") }
        guard servers.count == 9 else { throw TestFailure("\(servers)") }
        let lines = shards.sorted { $0.key < $1.key }.map { number, shard in
            let socket = shard.directory.path + "/service/http.sock"
            return "    server shard\(number) unix@\(socket) id \"${PLACE\(number)}\"\n"
        }.joined()
        let block = servers.prefix(3).map { $0 + "\n" }.joined()
        for (shipped, here) in [
            ("    user haproxy\n    group haproxy\n", ""),
            (
                "bind :443 ssl crt /etc/ssl/private/wake.example.org.pem alpn http/1.1",
                "bind 127.0.0.1:\(port)"
            ),
            ("/run/haproxy/admin.sock", directory + "/haproxy.sock"), (block, lines),
            ("/run/haproxy/inner.sock", directory + "/inner.sock"),
            ("maxconn 200000", "maxconn 2000"), ("size 1m", "size 1k"),
            ("sc0_conn_cur gt 256", "sc0_conn_cur gt 100000"),
            ("sc0_http_req_rate gt 1000", "sc0_http_req_rate gt 1000000"),
        ] {
            guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
            text = text.replacing(shipped, with: here)
        }
        return text
    }

    // MARK: What an operator does

    /// A new shard with a line in haproxy.cfg, perhaps in the place of one that is gone.
    func add(_ number: Int, inPlaceOf gone: Int? = nil, _ push: LoopbackAPNs) async throws {
        if let gone { shards[gone] = nil }
        shards[number] = try await Self.shard(push, oblivious)
        try await tellPeers()
        try reload()
    }

    /// The end of a shard and its disk, all at once.
    func destroy(_ number: Int) async throws {
        guard let shard = shards[number] else { throw TestFailure("no shard \(number)") }
        await shard.kill()
        try FileManager.default.removeItem(atPath: shard.directory.path + "/service")
    }

    /// Takes a shard's line out of haproxy.cfg.
    func forget(_ number: Int) async throws {
        shards[number] = nil
        try await tellPeers()
        try reload()
    }

    /// Nothing new comes to the shard, and what there is goes on.
    func drain(_ number: Int) throws {
        for backend in ["shards", "deletions"] {
            let admin = try LoopbackClient(path: directory.path + "/haproxy.sock")
            try admin.send("set server \(backend)/shard\(number) state drain\n")
            let answer = String(decoding: try admin.receiveAll(), as: UTF8.self)
            guard answer.allSatisfy(\.isWhitespace) else { throw TestFailure(answer) }
        }
    }

    private func reload() throws {
        try Self.configuration(shards, directory.path, reserved.port).write(
            toFile: directory.path + "/haproxy.cfg", atomically: true, encoding: .utf8)
        front.signal(SIGUSR2)
    }

    /// Waits until haproxy sends requests to the shard, or has noticed that it is down.
    func sees(_ number: Int, isUp: Bool) async throws {
        while true {
            let admin = try? LoopbackClient(path: directory.path + "/haproxy.sock")
            try? admin?.send("show servers state shards\n")
            let state = String(decoding: (try? admin?.receiveAll()) ?? [], as: UTF8.self)
            // management.txt, "show servers state": the sixth field is 0 when it is stopped.
            let name = "shard\(number)"
            for line in state.split(separator: "\n") {
                let fields = line.split(separator: " ").map(String.init)
                if fields.count > 5, fields[3] == name, (fields[5] != "0") == isUp { return }
            }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func stop() async {
        front.signal(SIGTERM)
        _ = await front.exit()
    }

    /// What haproxy said.
    var output: String { front.output }

    // MARK: What clients do

    /// Registers or renews all.
    /// - Returns: how many were not answered with 204.
    func renew(_ devices: [TestDevice]) -> Int {
        failures(devices) { client, device in
            try client.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body
            ).status == 204
        }
    }

    /// How many are not registered, or not with their push token, as far as they can see.
    func missing(_ devices: [TestDevice]) -> Int {
        failures(devices) { client, device in
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            return answer.status == 200 && answer.text.contains(device.pushText)
        }
    }

    /// On as many connections as there are threads: haproxy places each request by its own token.
    /// It may close one between two requests; then the request is repeated on another.
    private func failures(
        _ devices: [TestDevice],
        _ isDone: @escaping @Sendable (LoopbackClient, TestDevice) throws -> Bool
    ) -> Int {
        let (lanes, port) = (32, port)
        let ended = DispatchSemaphore(value: 0)
        let failed = Observed(0)
        // Threads of their own: what they do is waiting for commits.
        for lane in 0..<lanes {
            Thread.detachNewThread {
                var client: LoopbackClient?
                for index in stride(from: lane, to: devices.count, by: lanes) {
                    var done = try? client.map { try isDone($0, devices[index]) }
                    if done == nil {
                        client = try? LoopbackClient(port: port)
                        done = try? client.map { try isDone($0, devices[index]) }
                    }
                    if done != true { failed.update { $0 += 1 } }
                }
                ended.signal()
            }
        }
        for _ in 0..<lanes { ended.wait() }
        return failed.value
    }
}
