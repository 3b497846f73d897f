import Foundation
import TestSupport
import Testing

/// A real service with Web Push, a front that sees every request, a bus, and a client of them all.
final class PushedWorld {
    let mock: MockWebPush
    let service: ServiceUnderTest
    let front: FaultyFront
    let bus: MessageBus
    let client: ClientUnderTest

    static let needs: Comment = "needs dbus-daemon, Python's jeepney and openssl"
    static var isPossible: Bool {
        MessageBus.isInstalled && PythonBusPeer.isInstalled && OpenSSLCommand.isInstalled
    }

    init(channel: String = "poll") async throws {
        mock = try await MockWebPush()
        service = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        front = try FaultyFront(to: service.port)
        bus = try await MessageBus()
        client = try await ClientUnderTest(
            feed: front.url + "/feed/", key: service.feedKey, "--service", front.url,
            "--channel", channel)
    }

    var environment: [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
            "XDG_DATA_HOME": bus.directory.path + "/data",
        ]
    }

    /// Runs one command of the client on the bus.
    func command(_ words: String...) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            "reveille-client", words + ["--state", client.state], environment: environment)
    }

    /// Chooses the distributor in client.conf, without asking anybody.
    func choose(_ name: String = DistributorUnderTest.name) throws {
        let path = client.state + "/client.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data((text + "distributor = \(name)\n").utf8))
        try file.close()
    }

    /// Starts the client.
    func run(_ words: String...) throws -> RunningProgram {
        try RunningProgram(
            "reveille-client", ["run", "--verbose", "--state", client.state] + words,
            environment: environment)
    }

    /// The endpoints that were left with the service, in order.
    var puts: [String] {
        front.requests.filter { $0.method == "PUT" }.map { request in
            let text = String(decoding: request.body, as: UTF8.self).replacing("\\/", with: "/")
            guard let start = text.range(of: "https://") else { return text }
            return String(text[start.lowerBound...].prefix { $0 != "\"" })
        }
    }

    /// Heads fetched so far.
    var heads: Int { Self.heads(front.requests) }
    var answeredHeads: Int { Self.heads(front.answered) }

    private static func heads(_ requests: [WireRequest]) -> Int {
        requests.count { $0.method == "GET" && $0.path.contains("head") }
    }

    /// Waits until so many endpoints were left with the service.
    func puts(atLeast count: Int) async throws {
        try await front.requests("PUT", atLeast: count)
    }

    /// Lists distributors.
    func list(_ words: String...) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            "reveille-client", ["push", "list"] + words, environment: environment)
    }

    /// Waits until the client has seen the feed.
    func looked() async throws {
        while try await client.status("lastVerified") == "null" { try Task.checkCancellation() }
    }

    /// Waits until the service has acknowledged what it is to hold.
    func acknowledged() async throws {
        while try await client.status("registration") != "\"registered\"" {
            try Task.checkCancellation()
        }
    }

    /// Ends a client in the orderly way.
    func stop(_ program: RunningProgram) async {
        program.signal(SIGTERM)
        #expect(await program.exit() == 0, "\(program.output)")
    }
}
