import TestSupport
import WakeSystem
import WakeUnifiedPush

/// Something that listens where a bus should, and does as it is told: Python and its sockets.
final class FakeBus: Sendable {
    let address: BusAddress
    private let directory: TemporaryDirectory
    private let program: RunningProgram

    /// - Parameters:
    ///   - mode: what to do; see the script.
    ///   - bytes: what to say, for the modes that say it.
    init(_ mode: String, _ bytes: [UInt8] = []) async throws {
        directory = try TemporaryDirectory()
        address = try BusAddress("unix:path=\(directory.path)/bus")
        program = try RunningProgram(
            path: "/usr/bin/env", ["python3", "-u", "-c", Self.script, directory.path, mode],
            input: bytes)
        _ = try await program.line(containing: "listening")
    }

    func line(containing text: String) async throws -> String {
        try await program.line(containing: text)
    }

    private static let script = """
        import array, os, socket, sys
        from jeepney import *
        from jeepney.low_level import Parser

        place, mode = sys.argv[1:3]
        given = sys.stdin.buffer.read()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place + "/bus")
        listener.listen()
        print("listening", flush=True)
        peer, _ = listener.accept()

        def line():
            text = b""
            while not text.endswith(b"\\r\\n"):
                text += peer.recv(1)
            return text

        def wait():
            # Until the far end is gone.
            try:
                while peer.recv(65536):
                    pass
            except ConnectionResetError:
                pass
            print("gone", flush=True)
            sys.exit()

        first = line()
        assert first[:1] == b"\\0" and first[1:15] == b"AUTH EXTERNAL ", first
        assert bytes.fromhex(first[15:-2].decode()) == str(os.getuid()).encode()
        if mode == "hang-up":
            sys.exit()
        if mode == "handshake":
            peer.sendall(given)
            wait()
        peer.sendall(b"OK " + b"0123456789abcdef" * 2 + b"\\r\\n")
        assert line() == b"BEGIN\\r\\n"

        parser = Parser()
        serial = 0

        def receive():
            while True:
                message = parser.get_next_message()
                if message is not None:
                    return message
                data = peer.recv(65536)
                if not data:
                    print("gone", flush=True)
                    sys.exit()
                parser.add_data(data)

        def wire(message, sender="org.freedesktop.DBus"):
            global serial
            serial += 1
            message.header.fields[HeaderFields.sender] = sender
            return message.serialise(serial=serial)

        def reply(call, signature, body, sender="org.freedesktop.DBus"):
            return wire(new_method_return(call, signature, body), sender)

        hello = receive()
        if mode == "hello-odd":
            peer.sendall(reply(hello, "u", (1,)))
            wait()
        if mode == "hello-error":
            peer.sendall(wire(new_error(hello, "org.freedesktop.DBus.Error.LimitsExceeded")))
            wait()
        if mode == "hello-silent":
            wait()
        peer.sendall(reply(hello, "s", (":1.1",)))
        if mode == "say":
            peer.sendall(given)
            wait()
        call = receive()
        right = reply(call, "s", ("right",), ":1.7")
        if mode == "hang-up-late":
            sys.exit()
        if mode == "half":
            peer.sendall(right[:-1])
            sys.exit()
        if mode == "split":
            for byte in right:
                peer.sendall(bytes([byte]))
        if mode == "spoof":
            peer.sendall(reply(call, "s", ("wrong",), ":1.6"))
            anonymous = new_method_return(call, "s", ("wrong",))
            peer.sendall(anonymous.serialise(serial=99))
            peer.sendall(right)
            peer.sendall(reply(call, "s", ("wrong",), ":1.7"))
        if mode == "first-say":
            peer.sendall(given + right)
        if mode == "descriptors":
            for byte in right:
                files = array.array("i", [0, 1, 2])
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
                peer.sendmsg([bytes([byte])], rights)
        if mode == "late":
            second = receive()
            peer.sendall(right)
            peer.sendall(reply(second, "s", ("second",), ":1.7"))
        wait()
        """
}
