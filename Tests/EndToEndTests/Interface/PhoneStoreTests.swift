import Foundation
import ReveillePhone
import TestSupport
import Testing

/// A Keychain that can fail.
private final class Vault: TokenVault {
    let tokens = Observed<[String: Data]>([:])
    let isLocked = Observed(false)

    func load() throws(PhoneError) -> [String: Data] {
        if isLocked.value { throw .state(.keychain) }
        return tokens.value
    }

    func save(_ tokens: [String: Data]) throws(PhoneError) {
        if isLocked.value { throw .state(.keychain) }
        self.tokens.update { $0 = tokens }
    }
}

@Suite("The state of phones", .timeLimit(.minutes(10)))
struct PhoneStoreTests {
    @Test(
        "instance tokens are in the vault alone, and a reinstallation erases the former one first")
    func reinstallation() async throws {
        let service = try await ServiceUnderTest()
        let vault = Vault()
        let phone = try PhoneUnderTest(service, vault: vault)
        let token = PhonePushToken.apns(Data(phone.device.push))
        #expect(try await phone.client.register(token) == .registered)
        let first = try #require(vault.tokens.value[service.url])
        #expect(first.count == 32)
        #expect(try !phone.stateText().contains(first.base64EncodedString()))
        // The app is removed; the Keychain stays.
        let other = try PhoneUnderTest(service, vault: vault)
        #expect(try await other.client.status().registration == .unregistering(failure: nil))
        #expect(try await other.client.register(token) == .registered)
        let second = try #require(vault.tokens.value[service.url])
        #expect(second != first)
        #expect(try service.rows() == 1)
        #expect(try await other.client.unregister() == .none)
        #expect(try service.rows() == 0 && vault.tokens.value.isEmpty)
        // Before the first unlock of the device nothing is known, and nothing is made new.
        #expect(try await other.client.register(token) == .registered)
        vault.isLocked.update { $0 = true }
        #expect(await other.cycle().failure == .state(.keychain))
        await #expect(throws: PhoneError.state(.keychain)) {
            try await other.client.register(token)
        }
        vault.isLocked.update { $0 = false }
        #expect(try await other.client.status().registration == .registered)
        #expect(try service.rows() == 1)
    }

    @Test("with another service the registration moves: erased there, made here")
    func moved() async throws {
        let (old, new) = try await (ServiceUnderTest(), ServiceUnderTest())
        let phone = try PhoneUnderTest(old)
        #expect(try await phone.client.register(.apns(Data(phone.device.push))) == .registered)
        let moved = try PhoneUnderTest(
            feed: old.url + "/feed/", key: old.feedKey, service: new.url, in: phone.directory)
        #expect(try await moved.client.status().formerServices == 1)
        _ = await moved.cycle()
        #expect(try await moved.client.status().registration == .registered)
        #expect(try old.rows() == 0 && new.rows() == 1)
        #expect(try await moved.client.status().formerServices == 0)
        // And back.
        #expect(await phone.cycle().failure == nil)
        #expect(try old.rows() == 1 && new.rows() == 0)
    }

    @Test("a state that cannot be written is named, and nothing is lost")
    func unwritable() async throws {
        let service = try await ServiceUnderTest()
        let phone = try PhoneUnderTest(service)
        #expect(await phone.cycle().failure == nil)
        _ = try await service.publish([phone.device.pushText], notes: ["x"], "--again")
        let obstacle = phone.directory.path + "/state/state.tmp"
        try FileManager.default.createDirectory(
            atPath: obstacle + "/x", withIntermediateDirectories: true)
        let failed = await phone.cycle()
        #expect(failed.failure == .state(.unusable) && failed.matches.isEmpty)
        try? FileManager.default.removeItem(atPath: obstacle)
        #expect(await phone.cycle().matches.count == 1)
    }

    @Test("a damaged state is put aside and begun again; one of a later version is left alone")
    func damaged() async throws {
        let service = try await ServiceUnderTest()
        let phone = try PhoneUnderTest(service)
        _ = try await service.publish([phone.device.pushText], notes: ["x"], "--again")
        #expect(await phone.cycle().matches.count == 1)
        let file = URL(filePath: phone.directory.path + "/state/state")
        let good = try Data(contentsOf: file)
        try good.prefix(good.count / 2).write(to: file)
        #expect(await phone.cycle().matches.count == 1)
        #expect(try await phone.client.status().warnings == [.stateReset])
        let later = try phone.stateText().replacing("\"version\":1", with: "\"version\":2")
        try Data(later.utf8).write(to: file)
        #expect(await phone.cycle().failure == .state(.otherVersion))
        #expect(try phone.stateText() == later)
    }

    @Test("on a full disk the state stays as it was, and the error is a plain one")
    func full() async throws {
        let service = try await ServiceUnderTest()
        let directory = try TemporaryDirectory()
        for _ in 0..<4 {
            _ = try await service.publish([TestDevice().pushText], notes: ["x"], "--again")
        }
        let worker = RunningProgram.folder.appending(path: "phone-worker").path
        let words = [
            directory.path + "/disk/state", service.url + "/feed/", service.feedKey, service.url,
            TestDevice().pushText,
        ]
        try FileManager.default.createDirectory(
            atPath: directory.path + "/disk", withIntermediateDirectories: true)
        let app = try RunningProgram(
            "store-worker", ["within", directory.path + "/disk", "4k", worker] + words)
        _ = await app.exit()
        guard !app.output.contains("skipped ") else { return }
        #expect(app.output.contains("disk-full"), "\(app.output)")
    }
}
