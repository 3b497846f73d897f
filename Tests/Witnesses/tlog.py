"""Transparency logs by their specifications: RFC 6962 section 2.1, and C2SP signed-note,
tlog-checkpoint, tlog-cosignature and tlog-witness. Written from them alone, with Python's own modules and
`cryptography`; it shares no line and no idea with Sources/WakeFeed."""

import base64
import hashlib
import struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ED25519, COSIGNATURE = 0x01, 0x04


class Malformed(Exception):
    pass


# Merkle trees, as RFC 6962 defines them: by recursion over lists.

def leaf_hash(entry):
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(count):
    """The largest power of two below `count`."""
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def root(leaves):
    """MTH of a list of leaf hashes."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node_hash(root(leaves[:k]), root(leaves[k:]))


def inclusion(index, leaves):
    """PATH: section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return inclusion(index, leaves[:k]) + [root(leaves[k:])]
    return inclusion(index - k, leaves[k:]) + [root(leaves[:k])]


def consistency(old, leaves):
    """PROOF: section 2.1.2."""
    def subproof(m, part, known):
        if m == len(part):
            return [] if known else [root(part)]
        k = split(len(part))
        if m <= k:
            return subproof(m, part[:k], known) + [root(part[k:])]
        return subproof(m - k, part[k:], False) + [root(part[:k])]

    return subproof(old, leaves, True) if 0 < old < len(leaves) else []


def consistent(old, old_root, size, new_root, proof):
    """Whether a proof shows it: SUBPROOF run backwards, each hash used once."""
    if old == size:
        return not proof and old_root == new_root
    if old == 0:
        return not proof
    rest = list(proof)

    def roots(m, count, known):
        """The roots of the part as it was with m leaves, and as it is with count."""
        if m == count:
            both = old_root if known else rest.pop()
            return both, both
        k = split(count)
        if m <= k:
            right = rest.pop()
            before, left = roots(m, k, known)
            return before, node_hash(left, right)
        left = rest.pop()
        before, right = roots(m - k, count - k, False)
        return node_hash(left, before), node_hash(left, right)

    # The hashes stand in the order of the recursion's end: the outermost is the last.
    try:
        before, now = roots(old, size, True)
    except IndexError:
        return False
    return not rest and before == old_root and now == new_root


# Notes.

def decode64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Malformed("base64")
    if base64.b64encode(data) != text:
        raise Malformed("base64 has one form")
    return data


def decimal(text):
    if not text.isdigit() or (len(text) > 1 and text[:1] == b"0") or len(text) > 20:
        raise Malformed("a number")
    return int(text)


def key_id(name, kind, public):
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


class Signer:
    def __init__(self, name, seed):
        self.name = name
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def vkey(self, kind):
        identity = key_id(self.name, kind, self.public).hex()
        return f"{self.name}+{identity}+{base64.b64encode(bytes([kind]) + self.public).decode()}"

    def line(self, kind, signature):
        signed = key_id(self.name, kind, self.public) + signature
        return f"\u2014 {self.name} {base64.b64encode(signed).decode()}\n".encode()

    def sign(self, text):
        return self.line(ED25519, self.private.sign(text))

    def cosign(self, text, time):
        message = b"cosignature/v1\ntime %d\n" % time + text
        return self.line(COSIGNATURE, struct.pack(">Q", time) + self.private.sign(message))


class Verifier:
    def __init__(self, vkey):
        self.name, identity, material = vkey.split("+", 2)
        self.id = bytes.fromhex(identity)
        material = decode64(material.encode())
        self.kind, public = material[0], material[1:]
        if self.id != key_id(self.name, self.kind, public):
            raise Malformed("the key ID is another key's")
        self.public = Ed25519PublicKey.from_public_bytes(public)

    def verify(self, signature, text):
        """The time of a cosignature, 0 of a signature of a log, None of a wrong one."""
        time = 0
        if self.kind == COSIGNATURE:
            if len(signature) != 72:
                return None
            (time,) = struct.unpack(">Q", signature[:8])
            text, signature = b"cosignature/v1\ntime %d\n" % time + text, signature[8:]
        try:
            self.public.verify(signature, text)
        except InvalidSignature:
            return None
        return time


def signature_lines(data):
    """Name, key ID and signature of each line."""
    if not data or not data.endswith(b"\n"):
        raise Malformed("signature lines")
    found = []
    for line in data[:-1].split(b"\n"):
        parts = line.split(b" ")
        if len(parts) != 3 or parts[0] != "\u2014".encode():
            raise Malformed("a signature line")
        signed = decode64(parts[2])
        if len(signed) < 5 or not parts[1] or b"+" in parts[1]:
            raise Malformed("a signature")
        found.append((parts[1].decode(), signed[:4], signed[4:]))
    return found


def split_note(data):
    """Text and signatures."""
    end = data.rfind(b"\n\n")
    if end < 0 or any(byte < 0x20 and byte != 0x0A for byte in data):
        raise Malformed("a note")
    try:
        data.decode()
    except UnicodeDecodeError:
        raise Malformed("UTF-8")
    return data[: end + 1], signature_lines(data[end + 2:])


def parse_checkpoint(text):
    lines = text[:-1].split(b"\n")
    if len(lines) < 3 or not all(lines):
        raise Malformed("a checkpoint")
    tree = decode64(lines[2])
    if len(tree) != 32:
        raise Malformed("a root")
    return lines[0].decode(), decimal(lines[1]), tree


def checkpoint(origin, size, tree, extensions=()):
    lines = [origin, str(size), base64.b64encode(tree).decode(), *extensions]
    return "".join(line + "\n" for line in lines).encode()


def add_checkpoint_body(old, proof, note):
    hashes = b"".join(base64.b64encode(each) + b"\n" for each in proof)
    return b"old %d\n" % old + hashes + b"\n" + note


def parse_add_checkpoint(body):
    head, separator, note = body.partition(b"\n\n")
    lines = head.split(b"\n")
    if not separator or not lines[0].startswith(b"old ") or len(lines) > 64:
        raise Malformed("a request")
    proof = [decode64(line) for line in lines[1:]]
    if any(len(each) != 32 for each in proof):
        raise Malformed("a hash")
    return decimal(lines[0][4:]), proof, note
