import Foundation
import TestSupport

/// An FCM of 2026 that shares not a line with ours: HTTP/2 by hand in Python, which knows apps by
/// `fid`, `token` and `topic`, and beside it everything that leads to an access token.
struct FCMPythonPeer {
    private static let script = #"""
        import http.server, json, re, socket, struct, sys, threading, urllib.parse

        lock = threading.Lock()
        seen = {"fid": [], "token": [], "topic": [], "refused": [], "steps": [], "atOnce": 0}
        only = sys.argv[1]

        def detail(kind, **members):
            return {"@type": "type.googleapis.com/google." + kind, **members}

        def refusal(code, status, *details):
            return code, {"error": {"code": code, "status": status, "details": list(details)}}

        def invalid(field):
            return refusal(400, "INVALID_ARGUMENT",
                detail("rpc.BadRequest", fieldViolations=[{"field": "message." + field}]),
                detail("firebase.fcm.v1.FcmError", errorCode="INVALID_ARGUMENT"))

        def judge(body):
            message = json.loads(body)["message"]
            targets = [name for name in ("token", "fid", "topic") if name in message]
            if len(targets) != 1 or set(message) != {"data", "android", targets[0]}:
                return refusal(400, "INVALID_ARGUMENT")
            field, value = targets[0], message[targets[0]]
            if only in ("token", "fid") and field not in (only, "topic"):
                return invalid(field)
            if not only and field == "fid" and not re.fullmatch("[A-Za-z0-9_-]{22}", value):
                return invalid(field)
            if value.startswith("bad"):
                return invalid(field)
            if value.startswith("gone"):
                return refusal(404, "NOT_FOUND",
                    detail("firebase.fcm.v1.FcmError", errorCode="UNREGISTERED"))
            with lock:
                seen[field].append(value)
            return 200, {"name": "projects/p/messages/1"}

        def frame(kind, flags, stream, payload=b""):
            head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream)
            return head + payload

        def exactly(connection, count):
            data = b""
            while len(data) < count:
                part = connection.recv(count - len(data))
                if not part: raise EOFError
                data += part
            return data

        def speak(connection):
            try:
                exactly(connection, 24)
                connection.sendall(frame(4, 0, 0, struct.pack(">HI", 3, 100)))
                bodies = {}
                while True:
                    head = exactly(connection, 9)
                    length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                    stream = int.from_bytes(head[5:], "big")
                    payload = exactly(connection, length)
                    if kind == 4 and not flags & 1:
                        connection.sendall(frame(4, 1, 0))
                    elif kind == 6 and not flags & 1:
                        connection.sendall(frame(6, 1, 0, payload))
                    elif kind == 1:
                        bodies[stream] = b""
                        seen["atOnce"] = max(seen["atOnce"], len(bodies))
                    elif kind == 0:
                        bodies[stream] += payload
                        if length:
                            connection.sendall(frame(8, 0, 0, struct.pack(">I", length)))
                        if not flags & 1: continue
                        status, answer = judge(bodies.pop(stream))
                        if status != 200:
                            with lock: seen["refused"].append(status)
                        # RFC 7541: a literal with the name of the static entry 8, `:status`.
                        head = b"\x08\x03" + str(status).encode()
                        connection.sendall(frame(1, 4, stream, head)
                            + frame(0, 1, stream, json.dumps(answer).encode()))
            except (EOFError, OSError):
                pass

        class Credentials(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *words): pass

            def reply(self, status, members):
                body = json.dumps(members).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/report": return self.reply(200, seen)
                step, good = "subject", self.headers.get("X-Provider") == "yes"
                answer = {"id_token": "subject-token"}
                if self.path == "/computeMetadata/v1/instance/service-accounts/default/token":
                    step, good = "metadata", self.headers.get("Metadata-Flavor") == "Google"
                    answer = {"access_token": "ya29.m", "expires_in": 3599, "token_type": "Bearer"}
                elif self.path != "/subject": good = False
                seen["steps"].append(step if good else "?")
                self.reply(200 if good else 403, answer if good else {})

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if self.path == "/sts":
                    form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
                    good = (form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
                        and form["subject_token"] == "subject-token"
                        and form["audience"].startswith("//iam.googleapis.com/"))
                    step, answer = "sts", {"access_token": "ya29.f", "expires_in": 3599,
                        "issued_token_type": form["requested_token_type"], "token_type": "Bearer"}
                else:
                    step = "impersonate"
                    good = (self.headers["Authorization"] == "Bearer ya29.f"
                        and json.loads(body)["lifetime"] == "3600s")
                    answer = {"accessToken": "ya29.a", "expireTime": "2099-01-01T00:00:00Z"}
                seen["steps"].append(step if good else "?")
                self.reply(200 if good else 403, answer if good else {})

        messages = socket.create_server(("127.0.0.1", 0))
        credentials = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Credentials)
        print("ports", messages.getsockname()[1], credentials.server_port, flush=True)
        threading.Thread(target=credentials.serve_forever, daemon=True).start()
        while True:
            connection = messages.accept()[0]
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=speak, args=(connection,), daemon=True).start()
        """#

    /// What it has seen: values by field, statuses of refusals, and the steps to access tokens.
    struct Report: Decodable {
        let fid: [String]
        let token: [String]
        let topic: [String]
        let refused: [Int]
        let steps: [String]
        let atOnce: Int
    }

    private let program: RunningProgram
    let port: Int
    let credentialPort: Int

    /// - Parameter field: `token` or `fid`, the only one that it takes; any: each what fits it.
    init(field: String = "") async throws {
        program = try RunningProgram(
            path: "/usr/bin/env", ["python3", "-c", Self.script, field])
        let words = try await program.line(containing: "ports ").split(separator: " ")
        guard words.count == 3, let port = Int(words[1]), let other = Int(words[2]) else {
            throw TestFailure("no ports")
        }
        (self.port, credentialPort) = (port, other)
    }

    /// A section `[fcm]` that leads here, with credentials by their lines.
    func section(_ lines: String) -> String {
        "\n[fcm]\nproject = p\nhost = 127.0.0.1\nport = \(port)\nplain = on\n\(lines)\n"
            + "[broadcast]\nheartbeat = off\n"
    }

    /// A file of workload identity federation that leads here.
    func writeAccount(_ path: String) throws {
        let url = "http://127.0.0.1:\(credentialPort)"
        try """
        {"type": "external_account", "token_url": "\(url)/sts",
         "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
         "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
         "service_account_impersonation_url": "\(url)/account:generateAccessToken",
         "credential_source": {"url": "\(url)/subject", "headers": {"X-Provider": "yes"},
           "format": {"type": "json", "subject_token_field_name": "id_token"}}}
        """.write(toFile: path, atomically: true, encoding: .utf8)
    }

    func report() throws -> Report {
        let client = try LoopbackClient(port: UInt16(credentialPort))
        let answer = try client.exchange("GET", "/report")
        return try JSONDecoder().decode(Report.self, from: Data(answer.body))
    }
}
