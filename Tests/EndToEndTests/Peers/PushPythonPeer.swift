import Foundation
import TestSupport

/// APNs or FCM by HTTP/2 without TLS, by Python's `h2`: a server that shares not a line with ours,
/// in any of the troubles that push services have.
struct PushPythonPeer {
    private static let script = #"""
        import http.server, json, re, socket, sys, threading, time
        import h2.config, h2.connection, h2.errors, h2.events, h2.settings

        # mode, seconds or number, prefix of the push tokens that are none
        mode, number, invented = sys.argv[1], float(sys.argv[2]), sys.argv[3]
        lock, begun = threading.Lock(), time.monotonic()
        # Requests that arrived whole and may have woken a device, by push token.
        woken, seen = {}, {"requests": 0, "connections": 0, "sends": 0}

        def token(path, body):
            place = re.fullmatch("/3/device/([0-9a-f]{64})", path)
            if place: return place[1]
            message = json.loads(body)["message"]
            return message.get("token") or message["fid"]

        def judge(path, body):
            """Status and body of the response; None: there is none."""
            name = token(path, body)
            with lock:
                seen["requests"] += 1
                count = seen["requests"]
            if name.startswith(invented):
                if path.startswith("/3/"): return 400, {"reason": "BadDeviceToken"}
                problem = {"@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"field": field, "description": "Invalid"}
                        for field in ("message.token", "message.fid")]}
                detail = {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                    "errorCode": "INVALID_ARGUMENT"}
                return 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT",
                    "details": [detail, problem]}}
            if mode == "throttle": return 429, {"reason": "TooManyRequests"}
            if mode == "stray" and count == int(number):
                return 403, {"reason": "InvalidProviderToken"}
            with lock: woken[name] = woken.get(name, 0) + 1
            return None if mode in ("never", "ping", "cut") else (200, None)

        def answer(connection, sock, guard, stream, response):
            with guard:
                if response is None: return
                status, body = response
                data = json.dumps(body).encode() if body else b""
                try:
                    connection.send_headers(stream, [(":status", str(status))], end_stream=not data)
                    if data: connection.send_data(stream, data, end_stream=True)
                    sock.sendall(connection.data_to_send())
                except (OSError, h2.exceptions.H2Error): pass

        def pings(connection, sock, guard):
            try:
                while True:
                    time.sleep(1)
                    with guard:
                        connection.ping(b"8 octets")
                        sock.sendall(connection.data_to_send())
            except (OSError, h2.exceptions.H2Error): pass

        def speak(sock):
            connection = h2.connection.H2Connection(
                h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
            streams = 0 if mode == "streams" else 100
            connection.local_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] = streams
            connection.initiate_connection()
            sock.sendall(connection.data_to_send())
            guard, paths, bodies, served = threading.Lock(), {}, {}, 0
            if mode == "ping":
                threading.Thread(target=pings, args=(connection, sock, guard), daemon=True).start()
            while data := sock.recv(65536):
                due = []
                with guard:
                    for event in connection.receive_data(data):
                        if isinstance(event, h2.events.RequestReceived):
                            paths[event.stream_id] = dict(event.headers)[":path"]
                            bodies[event.stream_id] = b""
                        elif isinstance(event, h2.events.DataReceived):
                            bodies[event.stream_id] += event.data
                            # The window of the connection alone decides what may be sent.
                            if mode != "window":
                                connection.increment_flow_control_window(
                                    max(1, event.flow_controlled_length))
                        elif isinstance(event, h2.events.StreamEnded):
                            stream = event.stream_id
                            if mode == "refuse":
                                with lock: seen["requests"] += 1
                                connection.reset_stream(
                                    stream, h2.errors.ErrorCodes.REFUSED_STREAM)
                            else:
                                due.append((stream, judge(paths.pop(stream), bodies.pop(stream))))
                    sock.sendall(connection.data_to_send())
                for stream, response in due:
                    served += 1
                    if mode == "late":
                        threading.Timer(
                            number, answer, (connection, sock, guard, stream, response)).start()
                    else: answer(connection, sock, guard, stream, response)
                if mode == "cut" and served: break

        def serve(sock):
            try: speak(sock)
            except (OSError, h2.exceptions.H2Error): pass
            finally: sock.close()

        class Report(http.server.BaseHTTPRequestHandler):
            def log_message(self, *words): pass

            def do_GET(self):
                global mode, invented
                if self.path.startswith("/computeMetadata"):
                    answer = {"access_token": "ya29.m", "expires_in": 3599, "token_type": "Bearer"}
                else:
                    with lock:
                        answer = dict(seen, woken=len(woken), most=max(woken.values(), default=0))
                    if self.path.startswith("/mode/"): mode = self.path[6:]
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write(body)

        def listen(port):
            sock = socket.create_server(("127.0.0.1", port), backlog=64)
            def accept():
                while True:
                    peer = sock.accept()[0]
                    with lock: seen["connections"] += 1
                    if mode == "down" and time.monotonic() - begun < number:
                        peer.close()
                        continue
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=serve, args=(peer,), daemon=True).start()
            threading.Thread(target=accept, daemon=True).start()
            return sock.getsockname()[1]

        report = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Report)
        print("ports", listen(0), report.server_port, flush=True)
        report.serve_forever()
        """#

    static let isInstalled = PythonScript.has("h2")

    /// A trouble of a push service.
    enum Trouble: String, CaseIterable {
        case none, throttle, stray, never, ping, late, refuse, streams, window, cut, down
    }

    struct Report: Decodable {
        /// Requests that arrived whole.
        let requests: Int
        let connections: Int
        /// Push tokens that may have been woken, and the most pushes of one of them.
        let woken: Int
        let most: Int
    }

    private let program: RunningProgram
    let port: Int
    let reportPort: Int

    /// - Parameters:
    ///   - number: seconds (late, down), or the request (stray).
    ///   - invented: the prefix of push tokens that are none.
    init(_ trouble: Trouble = .none, _ number: Double = 0, invented: String = "none") async throws {
        program = try RunningProgram(
            path: "/usr/bin/env",
            ["python3", "-c", Self.script, trouble.rawValue, String(number), invented])
        let words = try await program.line(containing: "ports ").split(separator: " ")
        guard words.count == 3, let port = Int(words[1]), let other = Int(words[2]) else {
            throw TestFailure("no ports")
        }
        (self.port, reportPort) = (port, other)
    }

    /// From now on it is in this trouble.
    func set(_ trouble: Trouble) throws { _ = try ask("/mode/" + trouble.rawValue) }

    func report() throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(try ask("/report")))
    }

    private func ask(_ path: String) throws -> [UInt8] {
        let client = try LoopbackClient(port: UInt16(reportPort))
        return try client.exchange("GET", path).body
    }

    /// A section `[apns]` that leads here.
    func apns(_ pair: SigningKeyPair) -> String {
        """

        [apns]
        key = \(pair.privatePath)
        key-id = ABC123DEFG
        team-id = TEAM123456
        topic = org.example.app
        host = 127.0.0.1
        port = \(port)
        plain = on
        environments = production

        """
    }

    /// A section `[fcm]` that leads here; `environment` has the rest.
    var fcm: String {
        "\n[fcm]\nproject = p\nhost = 127.0.0.1\nport = \(port)\nplain = on\n"
            + "credentials = metadata\n"
    }

    var environment: [String: String] { ["GCE_METADATA_HOST": "127.0.0.1:\(reportPort)"] }
}
