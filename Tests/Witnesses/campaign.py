"""Kills a witness again and again while dishonest logs ask it to cosign two histories of each.

    python3 campaign.py PROGRAM DIRECTORY [--kills N] [--seed N]

PROGRAM is `reveille`. It prints counts, and fails when the cosignatures that somebody got are not of one
history, or when a smaller tree was cosigned for somebody who asked after a larger one was.
"""

import argparse
import http.client
import os
import random
import signal
import socket
import subprocess
import threading
import time

import tlog

LOGS, WORKERS, FORK = 12, 6, 3


class History:
    """A tree that grows on demand; subtrees are hashed once."""

    def __init__(self, mark):
        self.mark, self.known = mark, {}

    def hash(self, low, high):
        if high - low == 1:
            return tlog.leaf_hash(b"%d" % low + (self.mark if low >= FORK else b""))
        if (low, high) not in self.known:
            middle = low + tlog.split(high - low)
            self.known[low, high] = tlog.node_hash(self.hash(low, middle), self.hash(middle, high))
        return self.known[low, high]

    def root(self, size):
        return self.hash(0, size) if size else tlog.root([])

    def proof(self, old, size):
        def part(m, low, high, known):
            if m == high - low:
                return [] if known else [self.hash(low, high)]
            k = tlog.split(high - low)
            if m <= k:
                return part(m, low, low + k, known) + [self.hash(low + k, high)]
            return part(m - k, low + k, high, False) + [self.hash(low, low + k)]

        return part(old, 0, size, True) if 0 < old < size else []


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


class Campaign:
    def __init__(self, program, directory, seed):
        self.program, self.directory = program, directory
        self.place, self.socket = f"{directory}/witness", f"{directory}/socket"
        self.random = random.Random(seed)
        self.signers = [
            tlog.Signer(f"log.example/{number}", self.random.randbytes(32)) for number in range(LOGS)]
        self.histories = [(History(b"a"), History(b"b")) for _ in range(LOGS)]
        self.lock, self.got, self.over = threading.Lock(), [], threading.Event()
        self.counts = {}

    def command(self, *words):
        done = subprocess.run(
            [self.program, "witness", *words, "--directory", self.place], capture_output=True, check=True)
        return done.stdout.decode()

    def start(self):
        process = subprocess.Popen(
            [self.program, "witness", "serve", "--directory", self.place, "--listen", "unix:" + self.socket],
            stderr=subprocess.PIPE)
        said = b""
        while b"started" not in said:
            line = process.stderr.readline()
            if not line:
                raise SystemExit(f"the witness does not start: {said.decode()}")
            said += line
        # What it says is not read any more, but must have somewhere to go.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        return process

    def work(self, seed):
        mine, connection, sizes = random.Random(seed), None, [0] * LOGS
        while not self.over.is_set():
            number = mine.randrange(LOGS)
            side = mine.randrange(2)
            old = sizes[number]
            size = old + mine.choice([0, 1, 1, 2, 5])
            history, signer = self.histories[number][side], self.signers[number]
            text = tlog.checkpoint(signer.name, size, history.root(size))
            body = tlog.add_checkpoint_body(old, history.proof(old, size), text + b"\n" + signer.sign(text))
            sent = time.monotonic()
            try:
                connection = connection or Connection(self.socket)
                connection.request("POST", "/add-checkpoint", body)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                connection = None
                time.sleep(0.002)
                continue
            received = time.monotonic()
            with self.lock:
                self.counts[answer.status] = self.counts.get(answer.status, 0) + 1
                if answer.status == 200:
                    [(_, _, signature)] = tlog.signature_lines(content)
                    stamp = self.key.verify(signature, text)
                    assert stamp is not None, "a cosignature of something else"
                    self.got.append((number, size, side, history.root(size), sent, received, stamp))
            if answer.status == 200:
                sizes[number] = size
            elif answer.status == 409:
                sizes[number] = int(content)
            elif answer.status not in (422, 429, 503):
                raise AssertionError(f"{answer.status} {content}")

    def run(self, kills):
        os.makedirs(self.directory, exist_ok=True)
        self.command("init", "witness.example/w1")
        for signer in self.signers:
            self.command("add-log", signer.vkey(tlog.ED25519))
        self.key = tlog.Verifier(self.command("list").split()[2])
        failures = []
        threading.excepthook = lambda given: failures.append(str(given.exc_value))
        workers = [threading.Thread(target=self.work, args=(n,), daemon=True) for n in range(WORKERS)]
        process = self.start()
        for worker in workers:
            worker.start()
        for _ in range(kills):
            time.sleep(self.random.uniform(0, 0.12))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = self.start()
        self.over.set()
        for worker in workers:
            worker.join()
        process.terminate()
        assert process.wait() == 0, "an orderly end"
        assert not failures, failures
        self.judge(kills)

    def judge(self, kills):
        for number in range(LOGS):
            found = sorted(
                (entry for entry in self.got if entry[0] == number), key=lambda entry: entry[5])
            sides = {side for _, size, side, *_ in found if size > FORK}
            assert len(sides) <= 1, f"log {number}: two histories are cosigned"
            largest = []  # (received, size) of what grew
            for _, size, _, _, sent, received, _ in found:
                before = [each for arrived, each in largest if arrived < sent]
                assert not before or max(before) <= size, f"log {number}: {size} after {max(before)}"
                if not largest or size > largest[-1][1]:
                    largest.append((received, size))
        sizes = self.command("list")
        for number in range(LOGS):
            most = max((size for log, size, *_ in self.got if log == number), default=0)
            [line] = [each for each in sizes.splitlines() if f"  log.example/{number}  " in each]
            remembered = int(line.split("size ")[1].split()[0]) if "size " in line else 0
            assert remembered >= most, f"log {number}: {most} cosigned, {remembered} remembered"
        words = " ".join(f"{status}:{count}" for status, count in sorted(self.counts.items()))
        print(f"kills {kills} cosigned {len(self.got)} answers {words}")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program")
    words.add_argument("directory")
    words.add_argument("--kills", type=int, default=30)
    words.add_argument("--seed", type=int, default=1)
    given = words.parse_args()
    Campaign(given.program, given.directory, given.seed).run(given.kills)


if __name__ == "__main__":
    main()
