import Foundation

/// A push server and distributor in one, by HTTP/2 over TLS with Python's h2: what is posted to an
/// endpoint goes to the connector as a message.
enum PushServerScript {
    /// Why the test that needs it is skipped.
    static let isPossible: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import h2"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Arguments: certificate, key. It tells its port, then takes registrations and pushes.
    static let text = #"""
        import os, socket, ssl, sys, threading
        import h2.connection, h2.config, h2.events
        from jeepney import *
        from jeepney.io.blocking import open_dbus_connection

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

        def push(path, body):
            if path not in known:
                return "404"
            service, token = known[path]
            # The specification has no message of no bytes; every push is at least one here.
            call(service, "Message", {"token": ("s", token), "message": ("ay", body or b"\0")})
            print("pushed", len(body), flush=True)
            return "201"

        def serve(peer):
            speech = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            speech.initiate_connection()
            peer.sendall(speech.data_to_send())
            paths, bodies = {}, {}
            while data := peer.recv(65536):
                for event in speech.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        head = {bytes(k): bytes(v) for k, v in event.headers}
                        assert head[b":method"] == b"POST" and b"ttl" in head, head
                        paths[event.stream_id] = head[b":path"].decode()
                        bodies[event.stream_id] = b""
                    if isinstance(event, h2.events.DataReceived):
                        bodies[event.stream_id] += event.data
                    if isinstance(event, h2.events.StreamEnded):
                        status = push(paths[event.stream_id], bodies[event.stream_id])
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
