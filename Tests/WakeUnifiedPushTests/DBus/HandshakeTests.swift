import Testing
import WakeSystem

@testable import WakeUnifiedPush

struct HandshakeTests {
    private static let guid = "0123456789abcdef0123456789ABCDEF"

    private static func step(
        _ pieces: [String], guid: String? = nil
    ) throws -> [UInt8]? {
        var handshake = BusAuthentication(guid: guid.map { Array($0.utf8) })
        var step: [UInt8]?
        for piece in pieces { step = try handshake.feed(Array(piece.utf8)) }
        return step
    }

    @Test("it begins with a zero byte and our user, in hexadecimal of its digits")
    func opening() {
        #expect(
            BusAuthentication.opening(user: 1000)
                == [0] + Array("AUTH EXTERNAL 31303030\r\n".utf8))
        #expect(BusAuthentication.opening(user: 0) == [0] + Array("AUTH EXTERNAL 30\r\n".utf8))
    }

    @Test("an OK ends it, wherever it is cut")
    func accepted() throws {
        let line = "OK \(Self.guid)\r\n"
        for split in 0..<line.utf8.count {
            let index = line.utf8.index(line.startIndex, offsetBy: split)
            let pieces = [String(line[..<index]), String(line[index...])]
            #expect(try Self.step(pieces) == Array("BEGIN\r\n".utf8))
        }
        #expect(try Self.step(["OK \(Self.guid)"]) == nil)
        #expect(try Self.step([line], guid: Self.guid.lowercased()) != nil)
    }

    @Test(
        "a refusal, or a demand for more than our word, is a refusal",
        arguments: [
            "REJECTED EXTERNAL DBUS_COOKIE_SHA1\r\n", "REJECTED\r\n", "ERROR\r\n",
            "ERROR \"no\"\r\n", "DATA\r\n", "DATA 00\r\n",
        ])
    func refused(line: String) {
        #expect(throws: BusError.refused) { try Self.step([line]) }
    }

    @Test(
        "anything else is no bus",
        arguments: [
            "\r\n", "OK\r\n", "OK short\r\n", "ok 0123456789abcdef0123456789abcdef\r\n",
            "OK 0123456789abcdef0123456789abcdeg\r\n", "AGREE_UNIX_FD\r\n",
            "HTTP/1.1 400 Bad Request\r\n", "OK 0123456789abcdef0123456789abcdef \r\n", "\0",
            "\u{80}", "OK 0123456789abcdef0123456789abcdef\r\nl",
            String(repeating: "A", count: 1025),
        ])
    func garbage(line: String) {
        #expect(throws: BusError.noBus) { try Self.step([line]) }
    }

    @Test("another bus than the address says is refused")
    func guid() {
        let other = "f" + Self.guid.dropFirst()
        #expect(throws: BusError.refused) { try Self.step(["OK \(other)\r\n"], guid: Self.guid) }
    }
}

struct AddressTests {
    private static func names(_ text: String, runtime: String? = nil) throws -> [[UInt8]] {
        try BusAddress.list(Array(text.utf8), runtimeDirectory: runtime.map { Array($0.utf8) })
            .map(\.socketName)
    }

    @Test("the forms of Unix sockets are understood")
    func forms() throws {
        #expect(
            try Self.names("unix:path=/run/user/1000/bus") == [Array("/run/user/1000/bus".utf8)])
        #expect(try Self.names("unix:abstract=/tmp/x") == [[0] + Array("/tmp/x".utf8)])
        #expect(
            try Self.names("unix:runtime=yes", runtime: "/run/user/7")
                == [Array("/run/user/7/bus".utf8)])
        #expect(try Self.names("unix:path=/a%20b%2c%C3%A9") == [Array("/a b,é".utf8)])
        let guid = "unix:path=/a,guid=0123456789abcdef0123456789abcdef"
        #expect(try Self.names(guid) == [Array("/a".utf8)])
        #expect(try BusAddress(guid).guid?.count == 32)
    }

    @Test("of a list those that can be spoken to are kept, in their order")
    func lists() throws {
        #expect(
            try Self.names("tcp:host=a,port=1;unix:path=/a;unix:tmpdir=/tmp;unix:abstract=b;")
                == [Array("/a".utf8), [0, 0x62]])
        for text in ["tcp:host=localhost,port=1", "unixexec:path=/bin/x", "unix:tmpdir=/tmp"] {
            #expect(throws: BusError.unsupportedAddress) { try Self.names(text) }
        }
        // Without a runtime directory there is none to look in.
        #expect(throws: BusError.unsupportedAddress) { try Self.names("unix:runtime=yes") }
    }

    @Test(
        "texts that are no addresses are refused",
        arguments: [
            "", ";", "unix", ":path=/a", "unix:path", "unix:=/a", "unix:path=/a,path=/b",
            "unix:path=/a,abstract=b", "unix:path=", "unix:path=/a%2", "unix:path=/a%zz",
            "unix:path=/a b", "unix:path=/a%00", "unix:runtime=no", "unix:path=/é",
            "unix:path=/" + String(repeating: "a", count: 108),
        ])
    func bad(text: String) {
        #expect(throws: BusError.badAddress) { try Self.names(text, runtime: "/run") }
    }

    @Test("the environment's address comes first, then the runtime directory's bus")
    func environment() throws {
        func names(_ address: String?, _ runtime: String?) throws(BusError) -> [[UInt8]] {
            try BusEnvironment(
                sessionAddress: address.map { Array($0.utf8) },
                runtimeDirectory: runtime.map { Array($0.utf8) }
            ).sessionAddresses().map(\.socketName)
        }
        #expect(try names("unix:path=/a", "/run") == [Array("/a".utf8)])
        #expect(try names(nil, "/run") == [Array("/run/bus".utf8)])
        #expect(throws: BusError.noAddress) { try names(nil, nil) }
        #expect(throws: BusError.unsupportedAddress) { try names("autolaunch:", "/run") }
    }
}
