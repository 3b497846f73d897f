#!/usr/bin/env python3
"""Makes the feed's format vectors a second time, from the written format alone.

    make.py            compare with the files beside this script, byte for byte
    make.py --write    write them

Needs hashlib (standard library) and `cryptography` for Ed25519 and Poly1305. XSalsa20 is spelled
out below, SipHash in `verify.py`. Shares no code with the module it checks.
"""
import hashlib
import pathlib
import struct
import sys

from verify import siphash

try:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.poly1305 import Poly1305
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    print("python3-cryptography is missing", file=sys.stderr)
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = [bytes(range(32)), bytes(range(32, 64))]
NOW = 1_800_000_059
SECRETS = [bytes([n]) * 32 for n in (1, 2, 3)]
NOTES = [b"first", b"", "dritte Zeile – ü".encode()]


def blake2b(data, size=32, key=b""):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


class Stream:
    """The random bytes of the vectors: BLAKE2b-512 of a word and a counter, end to end."""

    def __init__(self, word):
        self.word, self.counter, self.rest = word, 0, b""

    def take(self, count):
        while len(self.rest) < count:
            self.rest += blake2b(self.word + struct.pack("<Q", self.counter), 64)
            self.counter += 1
        out, self.rest = self.rest[:count], self.rest[count:]
        return out


def rotate(value, bits):
    value &= 0xFFFFFFFF
    return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF


def salsa_rounds(x):
    quarters = [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
                (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]
    x = list(x)
    for _ in range(10):
        for a, b, c, d in quarters:
            x[b] ^= rotate(x[a] + x[d], 7)
            x[c] ^= rotate(x[b] + x[a], 9)
            x[d] ^= rotate(x[c] + x[b], 13)
            x[a] ^= rotate(x[d] + x[c], 18)
    return x


def salsa_input(key, middle):
    s = struct.unpack("<4I", b"expand 32-byte k")
    k = struct.unpack("<8I", key)
    m = struct.unpack("<4I", middle)
    return [s[0], *k[:4], s[1], *m, s[2], *k[4:], s[3]]


def xsalsa20(key, nonce, count):
    x = salsa_rounds(salsa_input(key, nonce[:16]))
    subkey = struct.pack("<8I", *(x[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))
    out = b""
    block = 0
    while len(out) < count:
        start = salsa_input(subkey, nonce[16:] + struct.pack("<Q", block))
        mixed = salsa_rounds(start)
        out += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(start, mixed)))
        block += 1
    return out[:count]


def secretbox(message, nonce, key):
    stream = xsalsa20(key, nonce, 32 + len(message))
    cipher = bytes(a ^ b for a, b in zip(message, stream[32:]))
    return nonce + Poly1305.generate_tag(stream[:32], cipher) + cipher


def value(digest, count, bits):
    return (int.from_bytes(digest, "big") * count) >> (128 - bits)


def digest(secret, salt):
    found = blake2b(b"wake-feed/digest/1" + secret)
    return siphash(found[16:], salt) if salt else found[:16]


def rice(values, bits):
    """The code, as one number whose lowest bit comes first."""
    code, length, last, rests = 0, 0, -1, []
    for number, each in enumerate(values, 1):
        code |= 1 << length + (each - last - 1 >> bits)
        length += (each - last - 1 >> bits) + 1
        rests.append((each - last - 1) % (1 << bits))
        last = each
        if number % 8 == 0:
            for rest in rests:
                code |= rest << length
                length += bits
            rests = []
    return code.to_bytes((length + 7) // 8, "little")


def seal(note, secret, size, nonce):
    plain = struct.pack("<H", len(note)) + note
    plain += bytes(size - 40 - len(plain))
    return secretbox(plain, nonce, blake2b(secret, key=blake2b(b"wake-feed/note/1")))


def public(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


class Feed:
    def __init__(self):
        self.key = Ed25519PrivateKey.from_private_bytes(SEEDS[0])
        self.public = public(self.key)
        self.id = blake2b(b"wake-feed-id" + self.public, 16)
        self.key_id = blake2b(self.public, 16)[:8]
        self.issued = NOW // 60 * 60
        self.hashes, self.files = [], {}

    def sign(self, domain, body):
        return body + self.key.sign(domain + body)

    def batch(self, bits, salt, note_bytes, stream, notes):
        rows = {value(digest(s, salt), 1024, bits): i for i, s in enumerate(SECRETS)}
        decoys = stream.take((1024 - len(rows)) * 16)
        for offset in range(0, len(decoys), 16):
            rows[value(decoys[offset:offset + 16], 1024, bits)] = None
        assert len(rows) == 1024
        payload = rice(sorted(rows), bits)
        for row in sorted(rows) if note_bytes else []:
            item = rows[row]
            if item is None:
                payload += stream.take(note_bytes)
            else:
                payload += seal(notes[item], SECRETS[item], note_bytes, stream.take(24))
        sequence = len(self.hashes) + 1
        header = b"WAKEBT01" + self.id + struct.pack("<QQIBBH", sequence, self.issued, 1024,
                                                     bits, 1 if note_bytes else 0, note_bytes)
        header += salt.ljust(16, b"\0") + (self.hashes or [bytes(32)])[-1]
        header += blake2b(payload) + struct.pack("<Q", len(payload))
        header = self.sign(b"wake-feed/batch/1\n", header.ljust(184, b"\0") + self.key_id)
        self.hashes.append(blake2b(header))
        self.files["b/%020d-%s" % (sequence, self.hashes[-1][:8].hex())] = header + payload

    def head(self):
        retained = sum(len(data) for name, data in self.files.items() if name[:2] == "b/")
        head = b"WAKEHD02" + self.id + struct.pack("<QQQQ", len(self.hashes), 1, self.issued,
                                                   self.issued + 7 * 86400)
        head += self.hashes[-1] + struct.pack("<Q", retained)
        head += struct.pack("<IIIIII", 14400, 300, 0, 0, 0, 30)
        head = head.ljust(256, b"\0") + b"".join(h[:8] for h in self.hashes)
        self.files["head"] = self.sign(b"wake-feed/head/2\n", head + self.key_id)

    def record(self, sequence, old, new):
        fields = b"WAKEKY01" + self.id + struct.pack("<Q", sequence) + public(old) + public(new)
        part = fields.ljust(112, b"\0") + blake2b(public(old), 16)[:8]
        part += old.sign(b"wake-feed/succession/1\n" + part)
        part += blake2b(public(new), 16)[:8]
        return part + new.sign(b"wake-feed/acceptance/1\n" + part)

    def keys(self):
        records = self.record(1, self.key, self.key)
        self.files["keys"] = records.ljust(4096, b"\0")
        new = Ed25519PrivateKey.from_private_bytes(SEEDS[1])
        records += self.record(3, self.key, new)
        self.files["succeeded/keys"] = records.ljust(4096, b"\0")
        head = self.files["head"][:-72] + blake2b(public(new), 16)[:8]
        self.files["succeeded/head"] = head + new.sign(b"wake-feed/head/2\n" + head)

    def expected(self):
        lines = ["key " + self.public.hex(), "feed " + self.id.hex()]
        new = Ed25519PrivateKey.from_private_bytes(SEEDS[1])
        lines.append("successor " + public(new).hex())
        for sequence, hash in enumerate(self.hashes, 1):
            lines.append("batch %d %s" % (sequence, hash.hex()))
        for note in (None, NOTES[0]):
            pair = self.id + struct.pack("<H", len(SECRETS[0])) + SECRETS[0] + (note or b"")
            name = blake2b(pair, 16, blake2b(b"wake-feed/match/1")).hex()
            lines.append("match %s %s" % (name, "-" if note is None else note.hex()))
        self.files["expected"] = ("\n".join(lines) + "\n").encode()


def main():
    feed = Feed()
    stream = Stream(b"vectors")
    feed.batch(48, b"", 0, stream, None)
    feed.batch(40, stream.take(16), 64, stream, NOTES)
    feed.head()
    feed.keys()
    feed.expected()
    for name, data in feed.files.items():
        path = HERE / name
        if sys.argv[1:] == ["--write"]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            sys.exit("%s differs" % name)
    print("%d files agree" % len(feed.files))


main()
