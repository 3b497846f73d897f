"""A log of other make, by C2SP tlog-witness: it asks a witness everything that the specification answers.

    python3 log.py vkey NAME SEED               prints the verifier key of the log
    python3 log.py statuses PORT VKEY NAME SEED  against a witness with that key, which knows this log and
                                                has cosigned nothing of it: every status, then "done"
    python3 log.py grow PORT VKEY NAME SEED OLD SIZE
                                                one request; prints the status, and "cosigned" or "nothing"
"""

import hashlib
import http.client
import os
import sys

import tlog


class Log:
    def __init__(self, name, seed, history=b""):
        self.signer = tlog.Signer(name, bytes.fromhex(seed))
        self.name, self.history, self.forked_at = name, history, 0

    def leaves(self, size):
        return [
            tlog.leaf_hash(b"%d" % i + (self.history if i >= self.forked_at else b""))
            for i in range(size)]

    def text(self, size, extensions=()):
        return tlog.checkpoint(self.name, size, tlog.root(self.leaves(size)), extensions)

    def note(self, size, extensions=()):
        text = self.text(size, extensions)
        return text + b"\n" + self.signer.sign(text)

    def body(self, old, size, proof=None, note=None):
        if proof is None:
            proof = tlog.consistency(old, self.leaves(size))
        return tlog.add_checkpoint_body(old, proof, note or self.note(size))


class Asking:
    """One connection that is kept alive, as the specification asks clients to have it."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)

    def send(self, method, path, body=None):
        self.connection.request(method, path, body)
        answer = self.connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()

    def add(self, body):
        return self.send("POST", "/add-checkpoint", body)


def statuses(port, vkey, name, seed):
    log, witness, asking = Log(name, seed), tlog.Verifier(vkey), Asking(port)
    monitor = f"/{hashlib.sha256(name.encode()).hexdigest()}/checkpoint"

    def expect(status, answer):
        assert answer[0] == status, f"{status} expected: {answer}"
        return answer

    def cosigned(answer, text):
        _, kind, body = expect(200, answer)
        assert kind.startswith("text/plain"), kind
        found = [
            witness.verify(signature, text) for signer, identity, signature in tlog.signature_lines(body)
            if (signer, identity) == (witness.name, witness.id)]
        assert len(found) == 1 and found[0] and found[0] > 1_500_000_000, body
        return body

    def conflict(answer, size):
        _, kind, body = expect(409, answer)
        assert kind == "text/x.tlog.size" and body == b"%d\n" % size, answer

    expect(404, asking.send("GET", monitor))
    conflict(asking.add(log.body(3, 5)), 0)
    cosigned(asking.add(log.body(0, 0)), log.text(0))
    cosigned(asking.add(log.body(0, 5)), log.text(5))
    # The size of the witness is learnt with zero.
    conflict(asking.add(log.body(0, 7)), 5)
    conflict(asking.add(log.body(4, 7)), 5)
    for size in [6, 7, 8, 9, 13, 64, 65, 300]:
        old = {6: 5, 7: 6, 8: 7, 9: 8, 13: 9, 64: 13, 65: 64, 300: 65}[size]
        cosigned(asking.add(log.body(old, size)), log.text(size))
        # A repeated request, as after a lost answer, is cosigned too.
        line = cosigned(asking.add(log.body(size, size)), log.text(size))
        _, kind, note = expect(200, asking.send("GET", monitor))
        text, signatures = tlog.split_note(note)
        assert text == log.text(size) and len(signatures) == 2, note
        assert note == log.note(size) + line, note
    # 400: no request.
    right = log.body(300, 310)
    for wrong in [
        b"", b"old 300", right[:-1], right[1:], right.replace(b"old 300", b"old 0300"),
        right.replace(b"old 300\n", b"old 300\r\n"), right.replace(b"old 300", b"old -1"),
        right.replace(b"\n310\n", b"\n0310\n"), right.replace(b"\n\n", b"\n", 1),
        right.replace(b"old 300\n", b"old 300\n" + b"A" * 43 + b"\n"),
        right.replace(b"old 300\n", b"old 300\n" + (b"A" * 43 + b"=\n") * 64), b"\xff" * 200,
        right.replace(b"\xe2\x80\x94 ", b"- "), b"old 300\n\n" + log.text(310),
    ]:
        expect(400, asking.add(wrong))
    expect(400, asking.add(log.body(301, 300, [])))
    # 404: of another origin.
    expect(404, asking.add(Log("unknown.example/log", seed).body(300, 310)))
    # 403: unsigned by the log, or forged.
    thief = Log(name, "ab" * 32)
    expect(403, asking.add(log.body(300, 310, note=thief.note(310))))
    expect(403, asking.add(log.body(300, 310, note=log.text(310) + b"\n" + log.signer.sign(b"else\n"))))
    other = tlog.Signer("somebody.example", os.urandom(32)).sign(log.text(310))
    more = log.note(310) + other
    # 422: proofs that show nothing, and other histories.
    proof = tlog.consistency(300, log.leaves(310))
    for wrong in [[], proof[:-1], proof + proof[:1], proof[::-1], [os.urandom(32)] + proof[1:]]:
        expect(422, asking.add(log.body(300, 310, wrong)))
    fork = Log(name, seed, b"other")
    expect(422, asking.add(fork.body(300, 310)))
    expect(422, asking.add(fork.body(300, 300)))
    fork.forked_at = 299
    expect(422, asking.add(fork.body(300, 310)))
    empty = tlog.checkpoint(name, 0, b"\0" * 32)
    conflict(asking.add(log.body(0, 0, note=empty + b"\n" + log.signer.sign(empty))), 300)
    # Nothing of it has moved the witness; unknown signatures are ignored, extensions are signed.
    cosigned(asking.add(log.body(300, 310, note=more)), log.text(310))
    assert b"somebody" not in expect(200, asking.send("GET", monitor))[2]
    extended = ["extension"]
    cosigned(asking.add(log.body(310, 311, note=log.note(311, extended))), log.text(311, extended))
    # Other ways.
    expect(405, asking.send("GET", "/add-checkpoint"))
    expect(405, asking.send("POST", monitor, b""))
    expect(404, asking.send("GET", "/"))
    expect(404, asking.send("GET", monitor.upper()))
    expect(413, Asking(port).add(b"old 0\n" + b"x" * 70_000))
    print("done")


def main():
    mode, *rest = sys.argv[1:]
    if mode == "vkey":
        print(Log(*rest).signer.vkey(tlog.ED25519))
    elif mode == "statuses":
        statuses(*rest)
    elif mode == "grow":
        port, vkey, name, seed, old, size = rest
        log = Log(name, seed)
        status, _, body = Asking(port).add(log.body(int(old), int(size)))
        verified = status == 200 and tlog.Verifier(vkey).verify(
            tlog.signature_lines(body)[0][2], log.text(int(size)))
        print(status, "cosigned" if verified else "nothing")
    else:
        sys.exit(2)


if __name__ == "__main__":
    main()
