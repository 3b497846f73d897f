"""A witness of other make, by C2SP tlog-witness.

    python3 witness.py --name NAME --seed HEX64 [--log VKEY]... [--state FILE] [--behaviour WORD] [--port N]

On standard output it first writes a line of JSON, {"port": ..., "vkey": ...}, then one for each request it has
answered, {"status": ..., "origin": ..., "old": ..., "size": ...}. It runs until a signal ends it.

behaviour: honest (the default); dishonest: cosigns what a known key has signed, whatever it cosigned before;
  stale: cosigns with a time a year ago; ahead: with one a year from now; forged: cosigns with a signature of
  something else; short: with half of one; twice: with a line of an unknown key, and its own three times; huge: with a
  megabyte; silent: takes the request and never answers; status:N answers N to everything, with an empty body.
"""

import argparse
import hashlib
import http.server
import json
import os
import threading
import time

import tlog


class Refused(Exception):
    def __init__(self, status, body=b"", kind="text/plain"):
        self.status, self.body, self.kind = status, body, kind


def refuse(status):
    raise Refused(status)


class Witness:
    def __init__(self, signer, vkeys, behaviour, state):
        self.signer, self.behaviour, self.path = signer, behaviour, state
        self.keys = {}
        for key in map(tlog.Verifier, vkeys):
            self.keys.setdefault(key.name, []).append(key)
        self.seen = {}  # origin: (size, root, note with our cosignature)
        self.lock = threading.Lock()
        if state and os.path.exists(state):
            with open(state) as file:
                self.seen = {
                    origin: (size, bytes.fromhex(tree), note.encode())
                    for origin, (size, tree, note) in json.load(file).items()}

    def add_checkpoint(self, body, facts):
        with self.lock:
            try:
                old, proof, note = tlog.parse_add_checkpoint(body)
                text, signatures = tlog.split_note(note)
                origin, size, tree = tlog.parse_checkpoint(text)
            except tlog.Malformed:
                raise Refused(400)
            facts.update(origin=origin, old=old, size=size)
            if origin not in self.keys:
                raise Refused(404)
            kept = self.verified(origin, text, signatures)
            if old > size:
                raise Refused(400)
            before = self.seen.get(origin, (0, tlog.root([]), b""))
            if self.behaviour != "dishonest":
                if old != before[0]:
                    raise Refused(409, b"%d\n" % before[0], "text/x.tlog.size")
                if size == 0 and tree != tlog.root([]):
                    raise Refused(422)
                if not tlog.consistent(old, before[1], size, tree, proof):
                    raise Refused(422)
            now = int(time.time()) + 365 * 86_400 * {"stale": -1, "ahead": 1}.get(self.behaviour, 0)
            line = self.signer.cosign(b"forged\n" if self.behaviour == "forged" else text, now)
            self.seen[origin] = (size, tree, text + b"\n" + kept + line)
            self.save()
            if self.behaviour == "short":
                start, end = line.decode().rsplit(" ", 1)
                return f"{start} {tlog.base64.b64encode(tlog.base64.b64decode(end)[:40]).decode()}\n".encode()
            if self.behaviour == "twice":
                return line.replace(self.signer.name.encode(), b"stranger.example") + line * 3
            return line * 10_000 if self.behaviour == "huge" else line

    def verified(self, origin, text, signatures):
        """The lines of known keys; a wrong one spoils the note."""
        kept = b""
        for name, identity, signature in signatures:
            for key in self.keys[origin]:
                if (name, identity) == (key.name, key.id):
                    if key.verify(signature, text) is None:
                        raise Refused(403)
                    line = tlog.base64.b64encode(identity + signature).decode()
                    kept += f"\u2014 {name} {line}\n".encode()
        if not kept:
            raise Refused(403)
        return kept

    def save(self):
        if not self.path:
            return
        with open(self.path + ".new", "w") as file:
            json.dump({
                origin: (size, tree.hex(), note.decode())
                for origin, (size, tree, note) in self.seen.items()}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(self.path + ".new", self.path)

    def checkpoint(self, path):
        with self.lock:
            for origin, (_, _, note) in self.seen.items():
                if path == f"/{hashlib.sha256(origin.encode()).hexdigest()}/checkpoint":
                    return note
        raise Refused(404)


def serve(witness, port):
    reports = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, act):
            facts = {}
            try:
                status, body, kind = 200, act(facts), "text/plain; charset=utf-8"
            except Refused as refused:
                status, body, kind = refused.status, refused.body, refused.kind
            with reports:
                print(json.dumps({"status": status, **facts}), flush=True)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            length = int(self.headers.get("Content-Length", "0"))
            if length > 65_536:
                self.close_connection = True
                return self.answer(lambda _: refuse(413))
            body = self.rfile.read(length)
            if witness.behaviour == "silent":
                threading.Event().wait()

            def act(facts):
                if witness.behaviour.startswith("status:"):
                    raise Refused(int(witness.behaviour[7:]))
                if self.path != "/add-checkpoint":
                    refuse(405 if self.path.endswith("/checkpoint") else 404)
                return witness.add_checkpoint(body, facts)

            self.answer(act)

        def do_GET(self):
            if self.path == "/add-checkpoint":
                return self.answer(lambda _: refuse(405))
            self.answer(lambda _: witness.checkpoint(self.path))

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", port), Handler)
    print(json.dumps({
        "port": server.server_address[1], "vkey": witness.signer.vkey(tlog.COSIGNATURE)}), flush=True)
    server.serve_forever()


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--name", required=True)
    words.add_argument("--seed", required=True)
    words.add_argument("--log", action="append", default=[])
    words.add_argument("--state")
    words.add_argument("--behaviour", default="honest")
    words.add_argument("--port", type=int, default=0)
    given = words.parse_args()
    signer = tlog.Signer(given.name, bytes.fromhex(given.seed))
    serve(Witness(signer, given.log, given.behaviour, given.state), given.port)


if __name__ == "__main__":
    main()
