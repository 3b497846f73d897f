import Foundation

/// A push server and distributor in one, by HTTP/2 over TLS with Python's h2: what is posted to an
/// endpoint goes to the connector as a message. It takes only what is encrypted with the keys that
/// the client's endpoints are registered with, as RFC 8291 says.
enum PushServerScript {
    /// Why the test that needs it is skipped.
    static let isPossible: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import h2, cryptography"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Arguments: certificate, key. It tells its port, then takes registrations and pushes.
    static let text = #"""
        import hmac, os, socket, ssl, sys, threading
        import h2.connection, h2.config, h2.events
        from jeepney import *
        from jeepney.io.blocking import open_dbus_connection
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        owned = connection.send_and_get_reply(new_method_call(
            bus, "RequestName", "su", ("org.unifiedpush.Distributor.whole", 4)))
        assert owned.body == (1,), owned.body
        known, lock = {}, threading.Lock()

        def call(service, member, fields):
            with lock:
                connection.send(new_method_call(
                    DBusAddress(
                        "/org/unifiedpush/Connector", service, "org.unifiedpush.Connector2"),
                    member, "a{sv}", (fields,)))

        # The client's key pair, and its secret.
        private = ec.derive_private_key(1, ec.SECP256R1())
        public = private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint)
        auth = bytes(16)

        def mac(key, *parts):
            return hmac.digest(key, b"".join(parts), "sha256")

        def decrypted(body):
            """RFC 8291 section 3.4, RFC 8188 section 2.1: one record."""
            salt, count = body[:16], body[20]
            sender, record = body[21:21 + count], body[21 + count:]
            point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
            shared = private.exchange(ec.ECDH(), point)
            key = mac(mac(auth, shared), b"WebPush: info\0", public, sender, b"\1")
            base = mac(salt, key)
            content = mac(base, b"Content-Encoding: aes128gcm\0\1")[:16]
            nonce = mac(base, b"Content-Encoding: nonce\0\1")[:12]
            return AESGCM(content).decrypt(nonce, record, None).rstrip(b"\0")[:-1]

        def push(path, head, body):
            if path not in known:
                return "404"
            if head.get(b"content-encoding") != b"aes128gcm":
                return "400"
            service, token = known[path]
            message = decrypted(body)
            call(service, "Message", {"token": ("s", token), "message": ("ay", body)})
            print("pushed", len(message), flush=True)
            return "201"

        def serve(peer):
            speech = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            speech.initiate_connection()
            peer.sendall(speech.data_to_send())
            heads, bodies = {}, {}
            while data := peer.recv(65536):
                for event in speech.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        head = {bytes(k): bytes(v) for k, v in event.headers}
                        assert head[b":method"] == b"POST" and b"ttl" in head, head
                        heads[event.stream_id] = head
                        bodies[event.stream_id] = b""
                    if isinstance(event, h2.events.DataReceived):
                        bodies[event.stream_id] += event.data
                    if isinstance(event, h2.events.StreamEnded):
                        head = heads[event.stream_id]
                        path = head[b":path"].decode()
                        status = push(path, head, bodies[event.stream_id])
                        speech.send_headers(event.stream_id, [(":status", status)], end_stream=True)
                peer.sendall(speech.data_to_send())

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        context.set_alpn_protocols(["h2"])
        listener = socket.create_server(("127.0.0.1", 0))

        def accept():
            while True:
                peer, _ = listener.accept()
                threading.Thread(
                    target=lambda: serve(context.wrap_socket(peer, server_side=True)),
                    daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        print("port", listener.getsockname()[1], flush=True)
        while True:
            message = connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            given = {key: value[1] for key, value in message.body[0].items()}
            token = given["token"]
            if message.header.fields[HeaderFields.member] == "Register":
                path = "/up/%d" % (len(known) + 1)
                known[path] = (given["service"], token)
                with lock:
                    connection.send(new_method_return(message, "a{sv}", (
                        {"success": ("s", "REGISTRATION_SUCCEEDED")},)))
                call(given["service"], "NewEndpoint", {
                    "token": ("s", token), "endpoint": ("s", "https://h0.push.example" + path)})
                print("vapid", given.get("vapid"), flush=True)
            else:
                for path in [path for path in known if known[path][1] == token]:
                    service = known.pop(path)[0]
                with lock:
                    connection.send(new_method_return(message, "a{sv}", ({},)))
                call(service, "Unregistered", {"token": ("s", token)})
        """#
}
