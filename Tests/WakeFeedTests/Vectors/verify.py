#!/usr/bin/env python3
"""Reads the feed's vectors as a client: written from Policy/FEED.md alone.

    verify.py [DIRECTORY]    check the files beside this script, or a directory like it

Needs `cryptography` for Ed25519 and Poly1305. Prints the number of checks; exit status 1 at the
first that fails.
"""
import hashlib
import pathlib
import struct
import sys

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.poly1305 import Poly1305
except ImportError:
    print("python3-cryptography is missing", file=sys.stderr)
    sys.exit(77)


class Refused(Exception):
    pass


def require(condition, error):
    if not condition:
        raise Refused(error)


def hashed(data, size=32, key=b""):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def number(data, offset, size):
    return int.from_bytes(data[offset:offset + size], "little")


def signed(data, domain, key_at, keys, unsigned="badSignature"):
    """Sections 3 to 5: keyID and signature end all layouts. The index of the key that signed."""
    for index, key in enumerate(keys):
        if data[key_at:key_at + 8] != hashed(key, 16)[:8]:
            continue
        try:
            message = domain + data[:key_at + 8]
            Ed25519PublicKey.from_public_bytes(key).verify(data[key_at + 8:key_at + 72], message)
            return index
        except InvalidSignature:
            pass
    raise Refused(unsigned)


def read_keys(data):
    """Section 5: all keys, each with the number of its first batch, and the feedID."""
    require(len(data) >= 4096, "truncated")
    require(len(data) == 4096, "tooLarge")
    keys, froms = [], []
    for offset in range(0, 4096, 256):
        record = data[offset:offset + 256]
        if keys and not any(record):
            break
        new = record[64:96]
        before = keys[-1] if keys else new
        signed(record, b"wake-feed/acceptance/1\n", 184, [new])
        signed(record[:184], b"wake-feed/succession/1\n", 112, [before])
        first = hashed(b"wake-feed-id" + (keys + [new])[0], 16)
        require(record[8:24] == first, "wrongFeed")
        start = number(record, 24, 8)
        require(record[:8] == b"WAKEKY01" and record[32:64] == before and new not in keys
                and not any(record[96:112])
                and (froms[-1] <= start < 2**63 - 1 if froms else start == 1), "malformedKeys")
        keys.append(new)
        froms.append(start)
    require(not any(data[256 * len(keys):]), "malformedKeys")
    return keys, froms, first


def read_head(data, chain, key, is_foreign=False, has_keys=True, oldest=0):
    """Section 9, steps 1 to 10 of a head; `is_foreign`: the file of keys is valid and lacks the
    configured key; `has_keys`: it is valid; `oldest`: the place of the newest signer seen so far.
    The place of the signer comes last."""
    require(len(data) <= 12104, "tooLarge")
    require(b"WAKEHD02".startswith(data[:8]), "badSignature")
    require(len(data) >= 256, "truncated")
    sequence, first = number(data, 24, 8), number(data, 32, 8)
    count = (sequence + 1 - first) % 2**64
    require(count <= 448, "badSignature")
    end = 256 + 8 * count
    require(len(data) >= end + 72, "truncated")
    keys, froms, feed_id = chain
    require(key in keys, "wrongFeed" if has_keys else "badSignature")
    # Nothing that a key before the configured one signed.
    oldest = max(oldest, keys.index(key))
    unsigned = "wrongFeed" if is_foreign else "badSignature"
    signer = oldest + signed(data, b"wake-feed/head/2\n", end, keys[oldest:], unsigned)
    require(data[8:24] == feed_id, "wrongFeed")
    require(not any(data[184:256]), "malformedHead(reservedBytes)")
    times = number(data, 40, 8), number(data, 48, 8)
    require(sequence < 2**63 - 1 and 1 <= first <= sequence + 1 and max(times) < 2**63,
            "malformedHead(range)")
    suffixes = [data[i:i + 8] for i in range(256, end, 8)]
    require(not suffixes or suffixes[-1] == data[56:64], "malformedHead(table)")
    require(sequence > 0 or not any(data[56:88]), "malformedHead(table)")
    require(signer + 1 == len(keys) or sequence < froms[signer + 1], unsigned)
    return sequence, first, data[56:88], suffixes, signer


def read_batch(data, chain, sequence, previous, suffix, newest, known=None, before=None):
    """Section 9, checks of a batch; `known`: its header's hash, as its successor says; `before`:
    the head's suffix of the batch before."""
    header, payload = data[:256], data[256:]
    require(b"WAKEBT01".startswith(header[:8]), "badSignature")
    require(len(header) == 256, "truncated")
    keys, froms, feed_id = chain
    is_known = hashed(header) == known
    signer = None if is_known else signed(header, b"wake-feed/batch/1\n", 184, keys)
    require(not any(header[136:184]), "corruptBatch(reservedBytes)")
    count, note = number(header, 40, 4), number(header, 46, 2)
    bits, kind = header[44], header[45]
    require(40 <= bits <= 54 and kind in (0, 1) and number(header, 32, 8) < 2**63
            and count >= 1024 and count % 1024 == 0 and count << bits <= 2**64
            and (note >= 42 if kind else note == 0), "corruptBatch(shape)")
    require(header[8:24] == feed_id, "wrongFeed")
    require(number(header, 24, 8) == sequence, "corruptBatch(sequence)")
    require(is_known or signer == max(
        (i for i, start in enumerate(froms) if start <= sequence), default=0), "badSignature")
    require(previous in (None, header[64:96]) and before in (None, header[64:72]), "fork")
    header_hash = hashed(header)
    require(header_hash[:8] == suffix and newest in (None, header_hash)
            and known in (None, header_hash), "fork")
    size = number(header, 128, 8)
    require(size <= 4 << 20, "tooLarge")
    end = size - count * note
    require(count * (bits + 1) <= 8 * end <= count * (bits + 2), "corruptBatch(size)")
    require(len(payload) >= size, "truncated")
    require(len(payload) == size, "tooLarge")
    require(hashed(payload) == header[96:128], "corruptBatch(payloadHash)")
    values = decode(payload[:end], count, bits)
    notes = payload[end:]
    return header_hash, header[48:64], (count, bits), {
        v: notes[i * note:(i + 1) * note] for i, v in enumerate(values)}


def decode(code, count, bits):
    """Section 4: the values of a code."""
    # The first bit is the last digit; then the first one.
    digits = bin(1 << 8 * len(code) | int.from_bytes(code, "little"))[:2:-1]
    values, last, start = [], -1, 0
    for _ in range(count // 8):
        quotients = []
        for _ in range(8):
            one = digits.find("1", start)
            require(one >= 0, "corruptBatch(code)")
            quotients.append(one - start)
            start = one + 1
        for quotient in quotients:
            end = start + bits
            require(end <= len(digits), "corruptBatch(code)")
            last += 1 + (quotient << bits) + int(digits[start:end][::-1], 2)
            values.append(last)
            start = end
    require(last < count << bits and len(digits) - start < 8 and "1" not in digits[start:],
            "corruptBatch(code)")
    return values


def value(secret, salt, shape):
    """Section 6: of a secret, in a batch of this count and these bits."""
    count, bits = shape
    return int.from_bytes(digest(secret, salt), "big") * count >> 128 - bits


def digest(secret, salt):
    found = hashed(b"wake-feed/digest/1" + secret)
    return siphash(found[16:], salt) if any(salt) else found[:16]


def siphash(key, message):
    """SipHash-2-4 of 128 bits, of a message of 16 bytes."""
    mask = (1 << 64) - 1
    k0, k1 = struct.unpack("<2Q", key)
    a, b, c, d = (k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
                  k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573)

    def rounds(a, b, c, d, count):
        for _ in range(count):
            a, c = a + b & mask, c + d & mask
            b = (b << 13 & mask | b >> 51) ^ a
            d = (d << 16 & mask | d >> 48) ^ c
            a = a << 32 & mask | a >> 32
            c, a = c + b & mask, a + d & mask
            b = (b << 17 & mask | b >> 47) ^ c
            d = (d << 21 & mask | d >> 43) ^ a
            c = c << 32 & mask | c >> 32
        return a, b, c, d

    for word in struct.unpack("<2Q", message) + (16 << 56,):
        a, b, c, d = rounds(a, b, c, d ^ word, 2)
        a ^= word
    a, b, c, d = rounds(a, b, c ^ 0xEE, d, 4)
    low = a ^ b ^ c ^ d
    a, b, c, d = rounds(a, b ^ 0xDD, c, d, 4)
    return struct.pack("<2Q", low, a ^ b ^ c ^ d)


def xsalsa20(key, nonce, count):
    def rotate(value, bits):
        value &= 0xFFFFFFFF
        return value << bits & 0xFFFFFFFF | value >> (32 - bits)

    def rounds(x):
        for _ in range(10):
            for a, b, c, d in ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
                               (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)):
                x[b] ^= rotate(x[a] + x[d], 7)
                x[c] ^= rotate(x[b] + x[a], 9)
                x[d] ^= rotate(x[c] + x[b], 13)
                x[a] ^= rotate(x[d] + x[c], 18)
        return x

    def state(key, middle):
        s, k = struct.unpack("<4I", b"expand 32-byte k"), struct.unpack("<8I", key)
        return [s[0], *k[:4], s[1], *struct.unpack("<4I", middle), s[2], *k[4:], s[3]]

    x = rounds(state(key, nonce[:16]))
    key = struct.pack("<8I", *(x[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))
    out = b""
    for block in range(count // 64 + 1):
        start = state(key, nonce[16:] + struct.pack("<Q", block))
        mixed = rounds(list(start))
        out += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(start, mixed)))
    return out[:count]


def open_note(sealed, secret):
    """Section 7; None when it does not open."""
    if len(sealed) < 42:
        return None
    nonce, tag, cipher = sealed[:24], sealed[24:40], sealed[40:]
    stream = xsalsa20(hashed(secret, key=hashed(b"wake-feed/note/1")), nonce, 32 + len(cipher))
    if Poly1305.generate_tag(stream[:32], cipher) != tag:
        return None
    plain = bytes(a ^ b for a, b in zip(cipher, stream[32:]))
    length = number(plain, 0, 2)
    return plain[2:2 + length] if length <= len(plain) - 2 else None


def read_feed(files, key, secrets):
    """All lines of `expected`, from head and batches."""
    chain = read_keys(files["keys"])
    keys, _, feed_id = chain
    lines = ["key " + keys[0].hex(), "feed " + feed_id.hex()]
    if len(keys) > 1:
        lines.append("successor " + keys[1].hex())
    sequence, first, newest, suffixes, _ = read_head(files["head"], chain, key)
    previous, matches = bytes(32), []
    for index, suffix in enumerate(suffixes):
        name = "b/%020d-%s" % (first + index, suffix.hex())
        is_last = first + index == sequence
        previous, salt, shape, rows = read_batch(
            files[name], chain, first + index, previous, suffix, newest if is_last else None)
        lines.append("batch %d %s" % (first + index, previous.hex()))
        for secret in secrets:
            sealed = rows.get(value(secret, salt, shape))
            require(sealed is not None, "no match")
            note = open_note(sealed, secret)
            pair = feed_id + struct.pack("<H", len(secret)) + secret + (note or b"")
            name = hashed(pair, 16, hashed(b"wake-feed/match/1"))
            matches.append((secret, "match %s %s" % (name.hex(), "-" if note is None
                                                     else note.hex())))
    return lines + [line for secret, line in matches if secret == secrets[0]], matches


def main():
    here = pathlib.Path(sys.argv[1] if sys.argv[1:] else __file__).resolve()
    here = here if here.is_dir() else here.parent
    files = {name: (here / name).read_bytes() for name in ("head", "keys")}
    after = {name: (here / "succeeded" / name).read_bytes() for name in ("head", "keys")}
    files.update(("b/" + path.name, path.read_bytes()) for path in (here / "b").iterdir())
    expected = (here / "expected").read_text().splitlines()
    key = bytes.fromhex(expected[0].split()[1])
    secrets = [bytes([n]) * 32 for n in (1, 2, 3)]
    successor = bytes.fromhex(expected[2].split()[1])
    lines, matches = read_feed(files, key, secrets)
    if lines != expected[:2] + expected[3:]:
        sys.exit("the files say something else than `expected`")
    # After the succession: with either key, and nothing of the old key for who knows of the new.
    succeeded = {**files, **after}
    for configured in (key, successor):
        if read_feed(succeeded, configured, secrets)[0] != expected:
            sys.exit("the feed with two keys says something else than `expected`")
    for refused in ({**files, "keys": after["keys"]}, files):
        try:
            read_feed(refused, successor, secrets)
        except Refused:
            pass
        else:
            sys.exit("a head of the old key was accepted by a client of the new one")
    notes = [line.split(" ")[2] for _, line in matches[3:]]
    if notes != [note.hex() for note in (b"first", b"", "dritte Zeile – ü".encode())]:
        sys.exit("the notes differ")
    # Without a policy of witnesses nothing depends on what follows the head.
    proven = {**succeeded, "head": succeeded["head"] + b"c2sp.org/tlog-proof@v1\n"}
    if read_feed(proven, key, secrets)[0] != expected:
        sys.exit("a proof after the head changes something")
    checks = 7
    for name, data in succeeded.items():
        for change in (lambda d: d[:-1], lambda d: d + bytes(12104),
                       *(lambda d, i=i: d[:i] + bytes([d[i] ^ 1]) + d[i + 1:]
                         for i in (0, 9, 24, 50, 100, 200, len(data) - 1))):
            try:
                read_feed({**succeeded, name: change(data)}, key, secrets)
            except Refused:
                checks += 1
            else:
                sys.exit("an altered %s was accepted" % name)
    print("%d checks passed" % checks)


if __name__ == "__main__":
    main()
