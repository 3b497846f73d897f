import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

@Suite("The file of installations")
struct InstallationFileTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let keys = (UInt8(1)..<3).map { seed in
        SigningKey(seed: [UInt8](repeating: seed, count: 32).span).verifyingKey
    }

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/installations"
    }

    private func change(
        _ body: (inout InstallationList) throws(InstallationChangeError) -> Void
    ) throws { try StateFile.installations(path).change(body) }

    private func allow(_ name: String, _ key: VerifyingKey) throws {
        let name = try #require(InstallationName(name))
        try change { list throws(InstallationChangeError) in try list.allow(name, key) }
    }

    @Test("lets nobody through while there is none, and whom it names from the next question on")
    func changes() throws {
        let file = InstallationFile(path: path)
        #expect(file.status(of: keys[0].bytes) == .unknown)
        #expect(file.count == 0)
        try allow("one", keys[0])
        #expect(file.status(of: keys[0].bytes) == .allowed(keys[0]))
        #expect(file.status(of: keys[1].bytes) == .unknown)
        try allow("two", keys[1])
        #expect(file.status(of: keys[1].bytes) == .allowed(keys[1]))
        try change { list throws(InstallationChangeError) in
            guard let name = InstallationName("one") else { return }
            try list.revoke(name)
        }
        #expect(file.status(of: keys[0].bytes) == .unknown)
        #expect(file.count == 1)
        try Files.remove(path)
        #expect(file.status(of: keys[1].bytes) == .unknown)
    }

    @Test("that is damaged lets nobody through, until it is right again")
    func damage() throws {
        let file = InstallationFile(path: path)
        try allow("one", keys[0])
        let whole = try Data(contentsOf: URL(filePath: path))
        for damaged in [whole.dropLast(), whole + Data("x\n".utf8), Data([0])] {
            try damaged.write(to: URL(filePath: path))
            #expect(file.status(of: keys[0].bytes) == .unusable)
            #expect(throws: InstallationFileError.self) { try allow("two", keys[1]) }
            #expect(try Data(contentsOf: URL(filePath: path)) == damaged)
        }
        try whole.write(to: URL(filePath: path))
        #expect(file.status(of: keys[0].bytes) == .allowed(keys[0]))
    }

    @Test("is not believed when it is a link, or others can write it")
    func permissions() throws {
        let file = InstallationFile(path: path)
        try allow("one", keys[0])
        #expect(try FileStatus(of: path).mode == 0o640)
        for mode in [0o660, 0o642] {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: path)
            // Its mode alone is no change of its content: as read anew.
            #expect(
                InstallationFile(path: path).status(of: keys[0].bytes)
                    == .unusable)
        }
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: path + "-away")
        #expect(file.status(of: keys[0].bytes) == .unusable)
    }

    @Test("is changed by one at a time")
    func locked() throws {
        try allow("one", keys[0])
        var other: InstallationFileError?
        try change { list throws(InstallationChangeError) in
            do throws(InstallationFileError) {
                try StateFile.installations(path).change { _ in }
            } catch { other = error }
        }
        #expect(other == .busy)
    }

    @Test("names a point that is no key: its bearer is unknown")
    func noPoint() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let list = try InstallationList(("one", zero))
        try StateFile.installations(path).write(list)
        let file = InstallationFile(path: path)
        #expect(file.status(of: zero) == .unknown)
    }
}
