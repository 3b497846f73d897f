"""A push service that shares not a line with ours, by PyPI's h2: APNs, FCM, and hosts of Web Push,
with the habits of services in trouble.

usage: peer.py apns | fcm | webpush [--certificate FILE --key FILE]

It prints "ports PUSH CONTROL". PUSH speaks HTTP/2, by TLS with a certificate and otherwise with prior
knowledge. CONTROL speaks HTTP/1.1, and gives access tokens away as Google's metadata server does:

  GET /habit/NAME/VALUE/N    sets the habit of what comes after N more answers; "none" is a good service
  GET /report                counts, never a push token
  GET /woken/N               the same, once N push tokens had a push

APNs: tokens that begin with "ee" are invented, those with "dd" are of apps that are gone. FCM: "bad",
and "gone". Web Push: paths that begin with /invented and /gone, at ntfy /nobody. All others work.
"""

import asyncio
import base64
import collections
import json
import re
import ssl
import sys

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

STREAMS = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS


class Service:
    """What came, and how it is met."""

    def __init__(self, kind, context):
        self.judge = {"apns": apns, "fcm": fcm, "webpush": web_push}[kind]
        self.context = context
        self.habit, self.value, self.coming = "none", 0, None
        # By push token: pushes that a device may have felt.
        self.pushes = collections.Counter()
        self.statuses = collections.Counter()
        self.requests = self.connected = self.answers = self.most_at_once = 0
        self.connections = set()
        self.server = None
        self.port = 0
        self.changed = asyncio.Event()

    async def listen(self):
        self.server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self), "127.0.0.1", self.port, ssl=self.context)
        self.port = self.server.sockets[0].getsockname()[1]

    def set(self, habit, value, after=0):
        """Begins a habit now, or after a number of answers."""
        self.answers = 0
        if after:
            self.coming = (habit, value, after)
            return
        self.habit, self.value, self.coming = habit, value, None
        for connection in self.connections:
            connection.set_streams()

    def answered(self, status):
        self.statuses[status] += 1
        self.answers += 1
        if self.coming and self.answers >= self.coming[2]:
            self.set(*self.coming[:2])

    def felt(self, token):
        self.pushes[token] += 1
        self.changed.set()

    async def outage(self):
        """Nothing listens for some seconds, and everything open is reset."""
        seconds, self.habit = self.value, "none"
        self.server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(seconds)
        await self.listen()

    def report(self):
        return {
            "requests": self.requests, "woken": len(self.pushes),
            "most": max(self.pushes.values(), default=0),
            "least": min(self.pushes.values(), default=0), "connections": self.connected,
            "atOnce": self.most_at_once,
            "statuses": {str(status): count for status, count in self.statuses.items()}}


class Connection(asyncio.Protocol):
    """One HTTP/2 connection; h2 keeps the protocol and answers PING and SETTINGS."""

    def __init__(self, service):
        self.service = service
        self.requests = {}
        self.open = set()

    def connection_made(self, transport):
        self.transport = transport
        self.service.connections.add(self)
        self.service.connected += 1
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.local_settings[STREAMS] = 100
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        self.service.connections.discard(self)

    def set_streams(self):
        self.h2.update_settings({STREAMS: 0 if self.service.habit == "no-streams" else 100})
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data):
        # Not one byte more, not even an answer to PING.
        if self.service.habit == "silent":
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            return self.transport.close()
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.requests[event.stream_id] = (dict(event.headers), bytearray())
                self.open.add(event.stream_id)
                self.service.most_at_once = max(self.service.most_at_once, len(self.open))
            elif isinstance(event, h2.events.DataReceived):
                self.requests[event.stream_id][1].extend(event.data)
                if self.service.habit != "no-window":
                    self.h2.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.open.discard(event.stream_id)
            if isinstance(event, h2.events.StreamEnded):
                self.receive(event.stream_id, *self.requests.pop(event.stream_id))
        self.flush()

    def receive(self, stream, headers, body):
        service = self.service
        service.requests += 1
        token, status, fields, answer = service.judge(headers, bytes(body))
        if service.habit == "outage":
            # Whoever began it had no push.
            return asyncio.ensure_future(service.outage())
        if service.habit == "refuse":
            return self.reset(stream)
        if service.habit == "throttle":
            status, fields, answer = throttled(service.judge)
        if service.habit == "throttle-later":
            status, fields, answer = throttled(service.judge)
            fields = [("retry-after", str(int(service.value)))]
        if service.habit == "status":
            status, fields, answer = int(service.value), [("retry-after", "60")], {}
        if service.habit == "stray":
            status, answer, service.habit = 403, {"reason": "InvalidProviderToken"}, "none"
        if 200 <= status < 300:
            service.felt(token)
        if service.habit == "never":
            return
        delay = service.value if service.habit == "late" else 0
        reply = lambda: self.reply(stream, status, fields, answer)
        asyncio.get_running_loop().call_later(delay, reply) if delay else reply()

    def reset(self, stream):
        self.open.discard(stream)
        self.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)

    def reply(self, stream, status, fields, answer):
        if stream not in self.open or self.transport.is_closing():
            return
        self.open.discard(stream)
        body = json.dumps(answer).encode() if answer is not None else b""
        self.h2.send_headers(stream, [(":status", str(status))] + fields, end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.service.answered(status)
        self.flush()


def throttled(judge):
    if judge is apns:
        return 429, [], {"reason": "TooManyRequests"}
    if judge is fcm:
        return 429, [], {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
             "errorCode": "QUOTA_EXCEEDED"}]}}
    return 429, [], {"code": 42901, "http": 429, "error": "limit reached"}


def apns(headers, body):
    """Apple, "Handling notification responses from APNs"."""
    path = re.fullmatch(r"/3/device/([0-9a-f]{64,200})", headers[":path"])
    good = (
        path and headers[":method"] == "POST" and headers.get("apns-push-type") == "background"
        and headers.get("apns-priority") == "5" and "apns-topic" in headers
        and headers.get("authorization", "").startswith("bearer ")
        and json.loads(body) == {"aps": {"content-available": 1}})
    if not good:
        return None, 400, [], {"reason": "BadPath"}
    token = path[1]
    if token.startswith("ee"):
        return token, 400, [], {"reason": "BadDeviceToken"}
    if token.startswith("dd"):
        return token, 410, [], {"reason": "Unregistered", "timestamp": 1770000000000}
    return token, 200, [("apns-id", "7C1E6A0C-6A58-4F5B-9E1E-0C7C1E6A0C6A")], None


def fcm(headers, body):
    """Google, "FCM error codes" and google.firebase.fcm.v1.FcmError."""
    detail = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    message = json.loads(body)["message"]
    field = "fid" if "fid" in message else "token"
    token = message[field]
    if token.startswith("bad"):
        return token, 400, [], {"error": {
            "code": 400, "status": "INVALID_ARGUMENT",
            "message": "The registration token is not a valid FCM registration token",
            "details": [
                {"@type": detail, "errorCode": "INVALID_ARGUMENT"},
                {"@type": "type.googleapis.com/google.rpc.BadRequest",
                 "fieldViolations": [{"field": "message." + field}]}]}}
    if token.startswith("gone"):
        return token, 404, [], {"error": {
            "code": 404, "status": "NOT_FOUND",
            "details": [{"@type": detail, "errorCode": "UNREGISTERED"}]}}
    return token, 200, [], {"name": "projects/p/messages/0:1"}


def subject(headers):
    """The `sub` of a VAPID token (RFC 8292); its signature is looked at by other peers."""
    found = re.match(r"vapid t=[^.]+\.([^.]+)\.", headers.get("authorization", ""))
    if not found:
        return None
    claims = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
    return claims.get("sub", "")


def web_push(headers, body):
    """The answers of four makers to the same request, as their documents and issues tell them."""
    host, path = headers[":authority"].split(":")[0], headers[":path"]
    token, sub = host + path, subject(headers)
    invented, gone = path.startswith("/invented"), path.startswith("/gone")
    if "ttl" not in headers or sub is None:
        return token, 400, [], {"error": "no TTL or no VAPID"}
    encrypted = headers.get("content-encoding") == "aes128gcm"
    if host.endswith("push.apple.com"):
        # "Sending web push notifications in web apps and browsers": the subject's domain is real.
        if not re.match(r"mailto:[^@]+@[^@]+\.[a-z]+$|https://[^/]+\.[a-z]+", sub):
            return token, 403, [], {"reason": "BadJwtToken"}
        if invented:
            return token, 404, [], {"reason": "BadPath"}
        return (token, 410, [], {"reason": "Unregistered"}) if gone else (token, 201, [], None)
    if host.endswith("mozilla.com"):
        # autopush, "HTTP Endpoints for Notifications": errno 102 and 106; a body is encrypted.
        if body and not encrypted:
            return token, 400, [], {"code": 400, "errno": 110}
        if invented:
            return token, 404, [], {"code": 404, "errno": 102}
        if gone:
            return token, 410, [], {"code": 410, "errno": 106}
        return token, 201, [("location", "https://" + host + "/m/1"), ("ttl", "0")], None
    if host.endswith("notify.windows.com"):
        # Taken without a body, and never delivered: windows-dev-docs 4173.
        if invented or gone:
            return token, 410 if gone else 404, [("x-wns-status", "dropped")], None
        return token, 201, [("x-wns-status", "received")], None
    if host.endswith("googleapis.com"):
        if invented:
            return token, 403, [], {"error": "another sender's"}
        return token, 410 if gone else 201, [], None
    # ntfy: 507 where nobody has listened for long, JSON for everything.
    if path.startswith("/nobody"):
        return token, 507, [], {"code": 50701, "http": 507}
    return token, 404 if invented else 410 if gone else 200, [], {"id": "x", "event": "message"}


async def control(service, reader, writer):
    """Requests without bodies, one a connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    words = head.split(b" ")[1].decode().split("/")[1:]
    body, flavor = service.report, ""
    if words[0] == "habit":
        service.set(words[1], float(words[2]), int(words[3]))
    elif words[0] == "woken":
        while len(service.pushes) < int(words[1]):
            service.changed.clear()
            await service.changed.wait()
    elif words[0] == "computeMetadata":
        flavor = "Metadata-Flavor: Google\r\n"
        body = lambda: {"access_token": "ya29.m", "expires_in": 3599, "token_type": "Bearer"}
    text = json.dumps(body()).encode()
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(text), flavor.encode()) + text)
    await writer.drain()
    writer.close()


async def main():
    context = None
    if "--certificate" in sys.argv:
        option = lambda name: sys.argv[sys.argv.index(name) + 1]
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(option("--certificate"), option("--key"))
        context.set_alpn_protocols(["h2"])
    service = Service(sys.argv[1], context)
    await service.listen()
    orders = await asyncio.start_server(
        lambda *streams: control(service, *streams), "127.0.0.1", 0)
    print("ports", service.port, orders.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
