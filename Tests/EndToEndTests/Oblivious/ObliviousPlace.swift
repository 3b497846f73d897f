import Foundation
import TestSupport

/// A service with a gateway of Oblivious HTTP, and a relay before it: three processes with the
/// client.
final class ObliviousPlace {
    let service: ServiceUnderTest
    let relay: ObliviousRelay

    var gateway: String { service.url + "/v1/oblivious" }

    /// - Parameter sections: added to the service's configuration.
    init(sections: String = "") async throws {
        service = try await ServiceUnderTest(sections: sections)
        let place = service.directory.path + "/service"
        try await Self.makeKey(place + "/keys/oblivious.key")
        let file = place + "/reveille.conf"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try (text + "\n[oblivious]\nkey = keys/oblivious.key\n").write(
            toFile: file, atomically: true, encoding: .utf8)
        try Self.succeed(await service.command("reload"))
        try Self.succeed(await service.command("feed", "refresh"))
        relay = try await ObliviousRelay(to: service.url + "/v1/oblivious")
    }

    /// A new profile that registers through a relay: this place's unless another is named.
    func client(relay: String? = nil) async throws -> ClientUnderTest {
        try await ClientUnderTest(
            feed: service.url + "/feed/", key: service.feedKey, "--service", service.url,
            "--oblivious", relay ?? self.relay.url, "--channel", "poll")
    }

    private static func makeKey(_ path: String) async throws {
        try succeed(
            await RunningProgram.run("reveille", ["keygen", "--kind", "ohttp", path]))
    }

    private static func succeed(_ result: (status: Int32, output: String)) throws {
        guard result.status == 0 else { throw TestFailure(result.output) }
    }

    /// Makes another key; the one of before becomes the former one.
    func replaceKey() async throws {
        let keys = service.directory.path + "/service/keys"
        try FileManager.default.moveItem(
            atPath: keys + "/oblivious.key", toPath: keys + "/former.key")
        try await Self.makeKey(keys + "/oblivious.key")
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        try (text + "former-key = keys/former.key\n").write(
            toFile: service.configuration, atomically: true, encoding: .utf8)
        try Self.succeed(await service.command("reload"))
        try Self.succeed(await service.command("feed", "refresh"))
    }

    /// Puts another key into the same file, and names it.
    /// - Returns: what the reload said.
    func exchangeKey() async throws -> String {
        let path = service.directory.path + "/service/keys/oblivious.key"
        try FileManager.default.removeItem(atPath: path)
        try await Self.makeKey(path)
        let reloaded = try await service.command("reload")
        try Self.succeed(reloaded)
        try Self.succeed(await service.command("feed", "refresh"))
        return reloaded.output
    }

    func forgetFormerKey() async throws {
        let keys = service.directory.path + "/service/keys"
        try FileManager.default.removeItem(atPath: keys + "/former.key")
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        try text.replacing("former-key = keys/former.key\n", with: "").write(
            toFile: service.configuration, atomically: true, encoding: .utf8)
        try Self.succeed(await service.command("reload"))
        try Self.succeed(await service.command("feed", "refresh"))
    }

    /// A number of the service's status.
    func count(_ name: String) async throws -> Int? {
        let status = try await service.command("status", "--json").output
        let word = try ServiceUnderTest.word(after: "\"\(name)\":", in: status)
        return Int(word.prefix { $0.isNumber })
    }

    /// A request through the relay.
    func plan(
        _ method: String, _ device: TestDevice, cipher: Int? = nil, key: Int? = nil
    ) -> ObliviousPeer.Plan {
        var plan = ObliviousPeer.Plan(
            url: relay.url, keys: service.url + "/.well-known/ohttp-gateway", method: method)
        plan.token = device.token
        plan.cipher = cipher
        plan.key = key
        if method == "PUT" { plan.body = String(decoding: device.body, as: UTF8.self) }
        return plan
    }
}
