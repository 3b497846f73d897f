#!/usr/bin/env python3
"""A publisher and a client of random feeds, half of them damaged: written from Policy/FEED.md alone.

    peer.py publish SEED COUNT DIRECTORY   makes DIRECTORY/0 … with what a client must say of each
    peer.py read DIRECTORY                 says of each feed in DIRECTORY what a client must say

`pasts.py` does the same for clients with a past.

A feed is `head`, `keys` and `b/…`, with `key`, the configured public key, and `secrets`, one in
hexadecimal on a line. `result` is what a client without a past says: the name of the first error, or
`ok` and for each match its batch, the number of the secret, match ID and note.
"""
import pathlib
import random
import struct
import sys

from verify import Refused, hashed, open_note, read_batch, read_head, read_keys, value, xsalsa20

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.poly1305 import Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def public(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def feed_id(key):
    return hashed(b"wake-feed-id" + key, 16)


def matches(secrets, feed, salt, shape, rows):
    """Section 8: for each secret that a batch has, its number, match ID and note."""
    for index, secret in enumerate(secrets):
        sealed = rows.get(value(secret, salt, shape))
        if sealed is None:
            continue
        note = open_note(sealed, secret)
        pair = feed + struct.pack("<H", len(secret)) + secret + (note or b"")
        name = hashed(pair, 16, hashed(b"wake-feed/match/1"))
        yield "%d %s %s" % (index, name.hex(), "-" if note is None else note.hex())


def result(folder):
    """Section 9, for a new client."""
    key = (folder / "key").read_bytes()
    secrets = [bytes.fromhex(line) for line in (folder / "secrets").read_text().split()]
    # What the client knows without the file, or with one that counts as absent.
    chain, is_foreign = ([key], [1], feed_id(key)), False
    try:
        offered = read_keys((folder / "keys").read_bytes())
        is_foreign = key not in offered[0]
        chain = chain if is_foreign else offered
    except Refused:
        pass
    try:
        sequence, first, newest, suffixes, _ = read_head(
            (folder / "head").read_bytes(), chain, key, is_foreign)
        previous, lines = bytes(32) if first == 1 else None, ["ok"]
        for number, suffix in enumerate(suffixes, first):
            path = folder / "b" / ("%020d-%s" % (number, suffix.hex()))
            previous, salt, shape, rows = read_batch(
                path.read_bytes() if path.exists() else b"", chain, number, previous, suffix,
                newest if number == sequence else None)
            lines += ("%d %s" % (number, each) for each in matches(
                secrets, chain[2], salt, shape, rows))
        return "\n".join(lines)
    except Refused as refused:
        return str(refused)


class Feed:
    """A feed of random shape; `damage` says what is wrong with it."""

    note_sizes = (0, 0, 42, 48, 77)
    counts, bits = (1024, 1024, 1024, 2048), (40, 54)

    def __init__(self, seed, damage):
        self.random = random.Random(seed)
        self.damage = damage
        self.keys = [self.new_key() for _ in range(self.random.choice((1, 1, 2, 3)))]
        self.id = feed_id(public(self.keys[0]))
        self.count = self.random.randrange(4)
        self.first = self.random.choice((1, 1, 2, 3)) if self.count else 1
        self.froms = [1] + sorted(
            self.random.randrange(1, self.first + self.count + 1) for _ in self.keys[1:])
        self.secrets = [self.bytes(self.random.randint(16, 64)) for _ in range(4)]
        self.files, self.hashes = {}, []
        # Where a signed thing is wrong: which one, where in it, and with what.
        self.target = self.random.choice(("keys", "head", "batch"))
        self.index = self.random.randrange(3)

    def bytes(self, count):
        return self.random.randbytes(count)

    def new_key(self):
        return Ed25519PrivateKey.from_private_bytes(self.bytes(32))

    def sign(self, kind, index, domain, body, key):
        """Bytes without keyID and signature; a damage of this thing happens before."""
        if self.damage == "field" and kind == self.target and index == self.index % (
                {"keys": len(self.keys), "head": 1, "batch": max(self.count, 1)}[kind]):
            size = self.random.choice((1, 1, 2, 4, 8))
            # Most fields are at the beginning.
            start = self.random.randrange(min(len(body) - size, self.random.choice((64, 200, 512))))
            value = self.random.choice((
                bytes(size), b"\xff" * size, self.bytes(size), (1).to_bytes(size, "little"),
                bytes([(body[start] + 1) % 256]) + body[start + 1:start + size]))
            body = body[:start] + value + body[start + size:]
        if self.damage == "signer" and kind == self.target:
            key = self.random.choice(self.keys + [self.new_key()])
        body += hashed(public(key), 16)[:8]
        return body + key.sign(domain + body)

    def record(self, index):
        before, key = self.keys[max(index - 1, 0)], self.keys[index]
        part = b"WAKEKY01" + self.id + struct.pack("<Q", self.froms[index])
        part = (part + public(before) + public(key)).ljust(112, b"\0")
        part += hashed(public(before), 16)[:8]
        part += before.sign(b"wake-feed/succession/1\n" + part)
        return self.sign("keys", index, b"wake-feed/acceptance/1\n", part, key)

    def signer(self, sequence):
        return self.keys[max(i for i, start in enumerate(self.froms) if start <= sequence)]

    def seal(self, note, secret, size):
        plain = (struct.pack("<H", len(note)) + note).ljust(size - 40, b"\0")
        nonce = self.bytes(24)
        stream = xsalsa20(hashed(secret, key=hashed(b"wake-feed/note/1")), nonce, 32 + len(plain))
        cipher = bytes(a ^ b for a, b in zip(plain, stream[32:]))
        return nonce + Poly1305.generate_tag(stream[:32], cipher) + cipher

    def code(self, values, count, bits):
        """Section 4; of a feed with that damage one that is none."""
        kind = self.random.randrange(7) if self.damage == "code" else None
        values = list(values)
        if kind == 0:
            values[-1] = (count << bits) + self.random.choice((0, 1, 1 << 64))
        elif kind == 1:
            values.pop(self.random.randrange(count))
        elif kind == 2:
            values.append(self.random.randrange(values[-1] + 1, (count + 2) << bits))
        pairs = [divmod(each - before - 1, 1 << bits)
                 for before, each in zip([-1] + values, values)]
        digits = ""
        for start in range(0, len(pairs), 8):
            group = pairs[start:start + 8]
            # As many zeros are beyond any range here.
            digits += "".join("0" * min(zeros, 9000) + "1" for zeros, _ in group)
            digits += "".join(format(rest, "0%db" % bits)[::-1] for _, rest in group)
        used = len(digits)
        digits += "0" * (-used % 8)
        code = bytearray(int(digits[::-1], 2).to_bytes(len(digits) // 8, "little"))
        if kind == 3:
            code += bytes(self.random.choice((1, 2, 8)))
        elif kind == 4 and used % 8:
            code[-1] |= 1 << self.random.randrange(used % 8, 8)
        elif kind == 5:
            del code[-self.random.choice((1, 6, 10)):]
        elif kind == 6:
            place = self.random.randrange(len(code))
            code[place:place + 200] = self.random.choice((b"\0", b"\xff")) * len(code[place:place + 200])
        return bytes(code)

    def batch(self, index):
        bits, note = self.random.randint(*self.bits), self.random.choice(self.note_sizes)
        count = self.random.choice(self.counts) if bits < 54 else 1024
        salt = self.bytes(16) if self.random.random() < 0.5 else bytes(16)
        rows = {self.random.randrange(count << bits): None for _ in range(count)}
        for secret in self.random.sample(self.secrets, self.random.randrange(3)):
            rows.pop(next(iter(rows)))
            rows[value(secret, salt, (count, bits))] = secret
        order = sorted(rows)
        payload = self.code(order, count, bits)
        for row in order if note else ():
            secret = rows[row]
            text = self.bytes(self.random.randint(0, note - 42)) if secret else b""
            payload += self.seal(text, secret, note) if secret else self.bytes(note)
        number = self.first + index
        previous = self.hashes[-1] if self.hashes else (
            bytes(32) if self.first == 1 else self.bytes(32))
        claimed = hashed(payload) if self.damage != "payload" else self.bytes(32)
        header = b"WAKEBT01" + self.id + struct.pack(
            "<QQIBBH", number, 1_800_000_000, count, bits, bool(note), note) + salt + previous
        header = (header + claimed + struct.pack("<Q", len(payload))).ljust(184, b"\0")
        header = self.sign("batch", index, b"wake-feed/batch/1\n", header, self.signer(number))
        self.hashes.append(hashed(header))
        self.files["b/%020d-%s" % (number, self.hashes[-1][:8].hex())] = header + payload

    def publish(self):
        records = b"".join(self.record(index) for index in range(len(self.keys)))
        self.files["keys"] = records.ljust(4096, b"\0")
        for index in range(self.count):
            self.batch(index)
        sequence = self.first + self.count - 1
        retained = sum(len(data) for name, data in self.files.items() if name[:2] == "b/")
        head = b"WAKEHD02" + self.id + struct.pack(
            "<QQQQ", sequence, self.first, 1_800_000_000, 1_800_604_800)
        head += (self.hashes or [bytes(32)])[-1] + struct.pack("<Q", retained)
        head += struct.pack("<IIIIII", 14400, 300, 0, 0, 0, 30)
        head = head.ljust(256, b"\0") + b"".join(each[:8] for each in self.hashes)
        self.files["head"] = self.sign("head", 0, b"wake-feed/head/2\n", head, self.keys[-1])
        # A proof, or what is none: without a policy of witnesses nothing depends on it.
        self.files["head"] += self.bytes(self.random.choice((0, 1, 2000, 8192)))
        self.configured = public(self.random.choice(self.keys))
        self.spoil()

    def spoil(self):
        """What happens to files after they were signed."""
        name = self.random.choice(sorted(self.files))
        data = self.files[name]
        place = self.random.randrange(len(data))
        if self.damage == "flip":
            self.files[name] = data[:place] + bytes([data[place] ^ 1 << self.random.randrange(8)]
                                                    ) + data[place + 1:]
        elif self.damage == "cut":
            self.files[name] = data[:self.random.choice((place, place % 300))]
        elif self.damage == "longer":
            self.files[name] = data + self.bytes(self.random.choice((1, 256, 5000, 13000)))
        elif self.damage == "page":
            self.files[name] = b"<" * self.random.choice((0, 100, 256, 4096, 9000, 13000))
        elif self.damage == "swap":
            other = self.random.choice(sorted(self.files))
            self.files[name], self.files[other] = self.files[other], data
        elif self.damage == "stranger":
            self.configured = public(self.new_key())
        elif self.damage == "nokeys":
            self.files["keys"] = b""

    def write(self, folder):
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "key").write_bytes(self.configured)
        (folder / "secrets").write_text("".join(secret.hex() + "\n" for secret in self.secrets))


DAMAGES = ("field", "field", "field", "signer", "code", "code", "payload", "flip", "cut", "longer", "page",
           "swap", "stranger", "nokeys")


def main():
    if sys.argv[1] == "publish":
        seed, count, folder = int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
        for number in range(count):
            damage = DAMAGES[number // 2 % len(DAMAGES)] if number % 2 else None
            feed = Feed("%d %d" % (seed, number), damage)
            feed.publish()
            feed.write(folder / str(number))
            (folder / str(number) / "result").write_text(result(folder / str(number)))
    else:
        for folder in pathlib.Path(sys.argv[2]).iterdir():
            (folder / "result").write_text(result(folder))


if __name__ == "__main__":
    main()
