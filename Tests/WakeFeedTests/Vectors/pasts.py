#!/usr/bin/env python3
"""Clients with a past: random histories of a feed, and what a client says at each of its checks.
Written from Policy/FEED.md alone, sections 9 and 15.

    pasts.py make SEED COUNT DIRECTORY   makes DIRECTORY/0 … and DIRECTORY/b
    pasts.py check DIRECTORY             compares what this client says with each `result`
    pasts.py vectors DIRECTORY           makes the histories that are kept beside this program

A history is a folder with `key` (the configured key, 32 bytes), `secrets` (hexadecimal, one on a
line), perhaps `policy` (its witnesses), and a folder for each check: `0`, `1` and so on, with `head`,
`keys`, `now` (seconds since 1970), and perhaps `key` (another configured key from now on), `withheld`
(names of batches that do not come) and `b` (what comes instead of a batch). `b` beside the histories
has all batches. `result` has for each check `refused ERROR`, or `head` with its warnings, a line for each
batch that was not checked yet (`NUMBER ok`, an error, or `absent`) with its matches, and `unchecked`
with the numbers of those that are left.
"""
import base64
import copy
import pathlib
import random
import struct
import sys

from peer import Feed, feed_id, matches, public
from verify import Refused, hashed, read_batch, read_head, read_keys, require

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Witnesses"))
import tlog  # noqa: E402

NOW, LIFE, TOLERANCE, LEAVES = 1_800_000_000, 604_800, 600, 32
KINDS = ("malformed", "otherHead", "otherLog", "badSignature", "noQuorum", "rollback", "otherHistory")


def proof_fault(condition, kind):
    require(condition, "proof(%s)" % kind)


class Policy:
    """The lines of C2SP's tlog-policy."""

    def __init__(self, text):
        self.logs, self.witnesses, self.rules = [], [], {"none": lambda cosigners: True}
        for words in map(str.split, text.splitlines()):
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "log":
                self.logs.append(tlog.Verifier(words[1]))
            elif words[0] == "witness":
                self.rules[words[1]] = lambda cosigners, place=len(self.witnesses): place in cosigners
                self.witnesses.append(tlog.Verifier(words[2]))
            elif words[0] == "group":
                parts = [self.rules[name] for name in words[3:]]
                least = {"any": 1, "all": len(parts)}.get(words[2]) or int(words[2])
                self.rules[words[1]] = lambda cosigners, parts=parts, least=least: sum(
                    part(cosigners) for part in parts) >= least
            else:
                self.is_quorum = self.rules[words[1]]


class Proof:
    """A tlog-proof."""

    def __init__(self, data):
        try:
            head, separator, note = data.partition(b"\n\n")
            lines = head.split(b"\n")
            ok = separator and len(data) <= 8192 and lines.pop(0) == b"c2sp.org/tlog-proof@v1"
            self.extra = None
            if lines[0].startswith(b"extra "):
                self.extra = tlog.decode64(lines.pop(0)[6:])
            ok = ok and lines[0].startswith(b"index ")
            self.index = tlog.decimal(lines[0][6:])
            self.path = [tlog.decode64(line) for line in lines[1:]]
            ok = ok and len(self.path) <= 63 and all(len(each) == 32 for each in self.path)
            self.text, self.signatures = tlog.split_note(note)
            self.origin, self.size, self.root = tlog.parse_checkpoint(self.text)
            proof_fault(ok and len(self.signatures) <= 100, "malformed")
        except (tlog.Malformed, IndexError, UnicodeDecodeError):
            proof_fault(False, "malformed")

    def includes(self, leaf):
        """PATH of RFC 6962 section 2.1.1, from the leaf to the root."""
        rest = list(self.path)

        def up(index, size):
            if size == 1:
                return leaf
            k = tlog.split(size)
            side = rest.pop()
            if index < k:
                return tlog.node_hash(up(index, k), side)
            return tlog.node_hash(side, up(index - k, size - k))

        try:
            return self.index < self.size < 2**63 and up(self.index, self.size) == self.root and not rest
        except IndexError:
            return False

    def trees(self):
        """The roots by their sizes that `extra` proves; nothing where it does not."""
        try:
            count = int.from_bytes(self.extra[:2], "big")
            hashes = [self.extra[i:i + 32] for i in range(2, len(self.extra), 32)]
            start = self.size - count
            whole = [bit for bit in range(63, -1, -1) if start >> bit & 1]
            if (len(self.extra) < 2 or not 0 <= count <= LEAVES or start < 0
                    or len(self.extra) != 2 + 32 * (len(whole) + count)):
                return {}
        except TypeError:
            return {}
        parts = list(zip(whole, hashes))
        found = {}
        for size, leaf in enumerate([None] + hashes[len(whole):], start):
            if leaf is not None:
                level = 0
                while parts and parts[-1][0] == level:
                    leaf = tlog.node_hash(parts.pop()[1], leaf)
                    level += 1
                parts.append((level, leaf))
            root = parts[-1][1] if parts else tlog.root([])
            for _, left in reversed(parts[:-1]):
                root = tlog.node_hash(left, root)
            found[size] = root
        return found


class Client:
    """What a client keeps, and says."""

    def __init__(self, key, policy):
        self.key, self.policy = key, policy
        self.chain, self.signer = ([key], [1], feed_id(key)), 0
        self.sequence, self.hash, self.issued = 0, bytes(32), None
        self.accepted, self.missing, self.log, self.is_forked = {}, {}, None, False

    def chain_with(self, file):
        """The chain with the file of keys; whether that is valid, and whether it lacks the key."""
        try:
            offered = read_keys(file)
        except Refused:
            return self.chain, self.signer, False, False
        keys, known = offered[0], self.chain[0]
        if self.key not in keys:
            return self.chain, self.signer, True, True
        start = keys.index(known[0]) if known[0] in keys else None
        continues = start is not None and keys[start:start + len(known)] == known
        if (self.issued is not None and offered[2] != self.chain[2]
                or self.key in known and not continues):
            return self.chain, self.signer, True, False
        newest = known[self.signer]
        return offered, keys.index(newest) if newest in keys else 0, True, False

    def check(self, files, batch, secrets, now):
        """The lines of one check; `batch`: gives the bytes of a name, or None."""
        try:
            unchecked, newest, warnings, lines = self.head(files, now)
        except Refused as refused:
            return ["refused %s" % refused]
        lines = [" ".join(["head"] + warnings)]
        for number in unchecked:
            try:
                lines += self.batch(number, newest, batch, secrets)
            except Refused as refused:
                lines.append("%d %s" % (number, refused))
                if str(refused) == "fork":
                    self.is_forked = True
                    break
        left = sorted(set(self.missing) | set(range(self.sequence + 1, newest[0] + 1)))
        return lines + [" ".join(["unchecked"] + [str(number) for number in left])]

    def head(self, files, now):
        file = files["head"]
        count = (int.from_bytes(file[24:32], "little") + 1 - int.from_bytes(file[32:40], "little")) % 2**64
        end = 256 + 8 * count
        signer_id = file[end:end + 8] if len(file) >= end + 72 and count <= 448 else None
        asks = signer_id is not None and (
            self.issued is None or self.key not in self.chain[0]
            or signer_id != hashed(self.chain[0][self.signer], 16)[:8])
        chain, oldest, has_keys, is_foreign = (
            self.chain_with(files["keys"]) if asks else (self.chain, self.signer, False, False))
        sequence, first, newest, suffixes, signer = read_head(
            file, chain, self.key, is_foreign, has_keys, oldest)
        table = dict(enumerate(suffixes, first))
        if table:
            table[sequence] = newest
        contradicts = any(table[n] != self.accepted[n][:len(table[n])] and
                          self.accepted[n] != table[n][:len(self.accepted[n])]
                          for n in table if n in self.accepted)
        if contradicts or self.hash and sequence >= self.sequence > 0 and (
                newest != self.hash if sequence == self.sequence
                else table.get(self.sequence, self.hash)[:8] != self.hash[:8]):
            self.is_forked = True
            raise Refused("fork")
        require(sequence >= self.sequence, "rollback")
        issued, expires = (int.from_bytes(file[at:at + 8], "little") for at in (40, 48))
        warnings = ["stale"] if expires < now - TOLERANCE else []
        warnings += ["clockSkew"] if issued > now + TOLERANCE else []
        has_gap = self.issued is not None and self.sequence + 1 < first
        tree = self.prove(file[:end + 72], file[end + 72:], chain, signer, expires - issued, now)
        require(not self.is_forked, "fork")
        # Accepted: from here on the state changes.
        self.chain, self.signer = chain, signer
        self.issued = max(issued, self.issued or 0)
        self.accepted = table
        dropped = [n for n in self.missing if n < first]
        for number in dropped:
            del self.missing[number]
        warnings += ["gap"] if has_gap or dropped else []
        if tree:
            self.log = tree[:3]
            warnings += ["staleProof"] if tree[3] else []
        if self.sequence + 1 < first:
            self.sequence, self.hash = first - 1, None
        if self.sequence == sequence:
            self.hash = newest
        unchecked = sorted(set(self.missing) | set(range(self.sequence + 1, sequence + 1)))
        return unchecked, (sequence, newest, suffixes, first), warnings, []

    def prove(self, head, data, chain, signer, life, now):
        """Section 15, verification: the tree, and whether its cosignatures are old."""
        if not self.policy:
            return None
        proof = Proof(data)
        proof_fault(proof.includes(tlog.leaf_hash(head)), "otherHead")
        keys, policy = chain[0], self.policy
        default = base64.urlsafe_b64encode(chain[2]).decode().rstrip("=")
        raw = [key.public.public_bytes_raw() for key in policy.logs]
        proof_fault(any(log.name == proof.origin and key in keys for log, key in zip(policy.logs, raw))
                    if policy.logs else proof.origin == default, "otherLog")
        signers = []
        for key in keys[signer:]:
            material = base64.b64encode(bytes([tlog.ED25519]) + key).decode()
            name = tlog.key_id(proof.origin, tlog.ED25519, key).hex()
            signers.append(tlog.Verifier("%s+%s+%s" % (proof.origin, name, material)))
        times = {}
        for name, identity, signature in proof.signatures:
            for place, each in enumerate(signers + policy.witnesses):
                if (each.name, each.id) == (name, identity) and place not in times:
                    time = each.verify(signature, proof.text)
                    proof_fault(time is not None and time < 2**63, "badSignature")
                    times[place] = time
        proof_fault(any(place < len(signers) for place in times), "badSignature")
        times = {place - len(signers): time for place, time in times.items() if place >= len(signers)}
        proof_fault(policy.is_quorum(set(times)), "noQuorum")
        if self.log:
            origin, size, root = self.log
            proof_fault(origin == proof.origin, "otherHistory")
            proof_fault(proof.size >= size, "rollback")
            if proof.size == size:
                proof_fault(proof.root == root, "otherHistory")
            else:
                trees = proof.trees()
                # A history that leads elsewhere is one of another log.
                proof_fault(not trees or trees[proof.size] == proof.root, "otherHistory")
                proof_fault(trees.get(size, root) == root, "otherHistory")
                proof_fault(size in trees or proof.size - size > LEAVES, "otherHistory")
        fresh = {place for place, time in times.items() if time >= now - TOLERANCE - life}
        return proof.origin, proof.size, proof.root, not policy.is_quorum(fresh)

    def batch(self, number, head, batch, secrets):
        sequence, newest, suffixes, first = head
        suffix = suffixes[number - first]
        data = batch("%020d-%s" % (number, suffix.hex()))
        if data is None:
            return ["%d absent" % number]
        found, salt, shape, rows = read_batch(
            data, self.chain, number, self.hash if number == self.sequence + 1 else None, suffix,
            newest if number == sequence else None, self.missing.get(number),
            suffixes[number - 1 - first] if number > first else None)
        if number > self.sequence:
            self.missing.update((each, None) for each in range(self.sequence + 1, number))
            self.sequence, self.hash = number, found
        self.missing.pop(number, None)
        if number - 1 in self.missing:
            self.missing[number - 1] = data[64:96]
        return ["%d ok" % number] + [
            "%d match %s" % (number, each)
            for each in matches(secrets, self.chain[2], salt, shape, rows)]


def result(folder):
    policy = folder / "policy"
    client = Client((folder / "key").read_bytes(), policy.exists() and Policy(policy.read_text()))
    secrets = [bytes.fromhex(line) for line in (folder / "secrets").read_text().split()]
    lines = []
    for number in range(sum(each.name.isdigit() for each in folder.iterdir())):
        step = folder / str(number)
        withheld = (step / "withheld").read_text().split() if (step / "withheld").exists() else []

        def batch(name):
            for path in (step / "b" / name, folder.parent / "b" / name):
                if path.exists() and name not in withheld:
                    return path.read_bytes()
            return None

        if (step / "key").exists():
            client.key = (step / "key").read_bytes()
        files = {name: (step / name).read_bytes() for name in ("head", "keys")}
        lines += client.check(files, batch, secrets, int((step / "now").read_text()))
    return "\n".join(lines)


class Publisher(Feed):
    """A feed that grows, and its log."""

    note_sizes, counts = (0, 0, 0, 44), (1024,)

    def __init__(self, seed, origin):
        super().__init__(seed, None)
        self.keys, self.froms, self.first, self.count = [self.new_key()], [1], 1, 0
        self.id = feed_id(public(self.keys[0]))
        self.start, self.issued, self.leaves = 1, NOW, []
        self.origin = origin or base64.urlsafe_b64encode(self.id).decode().rstrip("=")

    def __deepcopy__(self, memo):
        """Another history from here on, by the same keys."""
        other = copy.copy(self)
        for name in ("keys", "froms", "hashes", "leaves"):
            setattr(other, name, list(getattr(self, name)))
        other.files = dict(self.files)
        other.random = random.Random(self.random.random())
        return other

    def publish(self):
        self.batch(self.count)
        self.count += 1

    def succeed(self):
        self.keys.append(self.new_key())
        self.froms.append(self.count + 1)

    def retire(self, count):
        """The oldest batches are named no more."""
        self.start = min(self.start + count, self.count + 1)

    def keys_file(self):
        return b"".join(self.record(index) for index in range(len(self.keys))).ljust(4096, b"\0")

    def head(self, now, key=None):
        self.issued = max(self.issued + 1, now)
        names = self.hashes[self.start - 1:]
        head = b"WAKEHD02" + self.id + struct.pack(
            "<QQQQ", self.count, self.start, self.issued, self.issued + LIFE)
        head += (self.hashes or [bytes(32)])[-1] + struct.pack("<Q", 0)
        head = (head + struct.pack("<IIIIII", 14400, 300, 0, 0, 0, 30)).ljust(256, b"\0")
        head = self.sign("head", 0, b"wake-feed/head/2\n", head + b"".join(
            each[:8] for each in names), key or self.keys[-1])
        self.leaves.append(tlog.leaf_hash(head))
        return head

    def proof(self, witnesses, time, index=None, origin=None, cut=0, key=None):
        """Of the head with that place in the log, the newest by default."""
        leaves = self.leaves
        index = len(leaves) - 1 if index is None else index
        count = max(0, min(LEAVES, len(leaves)) - cut)
        start = len(leaves) - count
        roots, at = [], 0
        for bit in range(63, -1, -1):
            if start >> bit & 1:
                roots.append(tlog.root(leaves[at:at + (1 << bit)]))
                at += 1 << bit
        extra = struct.pack(">H", count) + b"".join(roots + leaves[start:])
        text = tlog.checkpoint(origin or self.origin, len(leaves), tlog.root(leaves))
        signer = tlog.Signer(origin or self.origin, (key or self.keys[-1]).private_bytes_raw())
        lines = [signer.sign(text)] + [each.cosign(text, time) for each in witnesses]
        proof = [b"c2sp.org/tlog-proof@v1"] + ([b"extra " + base64.b64encode(extra)] if cut < 99 else [])
        proof += [b"index %d" % index] + [
            base64.b64encode(each) for each in tlog.inclusion(index, leaves)]
        return b"".join(line + b"\n" for line in proof) + b"\n" + text + b"\n" + b"".join(lines)


class History:
    """One client's checks, and what happens to it."""

    def __init__(self, seed, script=None):
        self.random = random.Random("past " + seed)
        self.script = script
        origin = None if script else self.random.choice((None, None, None, "feed.example.org/log"))
        self.publisher = Publisher(seed, origin)
        self.former = [copy.deepcopy(self.publisher)]
        self.stranger = Publisher("stranger " + seed, None)
        self.secrets, self.batches, self.steps, self.now = self.publisher.secrets, {}, [], NOW
        count = 3 if script and script[0] == "witnesses" else 0
        self.witnesses = [tlog.Signer("w%d.example" % n, self.random.randbytes(32))
                          for n in range(count if script else self.random.choice((0, 0, 1, 3)))]
        self.least = 2 if script else self.random.randint(1, max(1, len(self.witnesses)))
        if script:
            self.publisher.note_sizes, self.publisher.bits = (0,), (40, 40)
            self.key = public(self.publisher.keys[0])
            for word in script:
                self.play(word)
            return
        self.grow()
        self.key = public(self.random.choice(self.publisher.keys))
        for _ in range(self.random.randint(3, 7)):
            pick = self.random.choice
            self.step(pick((None,) * 6 + EVENTS + (PROOFS if self.witnesses else ())))
            self.grow()

    def play(self, word):
        """A word of a script: what the publisher does, or a check."""
        self.former.append(copy.deepcopy(self.publisher))
        self.now += 60
        if word == "publish":
            self.publisher.publish()
        elif word == "succeed":
            self.publisher.succeed()
        elif word == "retire":
            self.publisher.retire(1)
        elif word == "away":
            for _ in range(LEAVES + 8):
                self.publisher.head(self.now)
        elif word != "witnesses":
            self.step(None if word == "check" else word)

    def policy(self):
        if not self.witnesses:
            return None
        lines = ["# witnesses"]
        if "/" in self.publisher.origin:
            key = self.publisher.keys[0].private_bytes_raw()
            lines.append("log " + tlog.Signer(self.publisher.origin, key).vkey(tlog.ED25519))
        lines += ["witness w%d %s" % (n, each.vkey(tlog.COSIGNATURE))
                  for n, each in enumerate(self.witnesses)]
        names = " ".join("w%d" % n for n in range(len(self.witnesses)))
        return "\n".join(lines + ["group all-of-them %d %s" % (self.least, names),
                                  "quorum all-of-them"]) + "\n"

    def grow(self):
        """What a publisher does between two checks."""
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.publisher.publish()
        if self.random.random() < 0.2 and len(self.publisher.keys) < 4:
            self.publisher.succeed()
        if self.random.random() < 0.2:
            self.publisher.retire(self.random.randint(1, 2))
        self.now += self.random.choice((100, 3600, 90_000))
        # Mostly few heads, sometimes more than a proof reaches back.
        for _ in range(self.random.choice((0, 0, 1, 5, 40))):
            self.publisher.head(self.now)
        self.former.append(copy.deepcopy(self.publisher))

    def add(self, publisher, head, now=None, keys=None, **more):
        self.batches.update((name, data) for name, data in publisher.files.items() if name[:2] == "b/")
        self.steps.append({"head": head, "keys": publisher.keys_file() if keys is None else keys,
                           "now": b"%d" % (now or self.now), **more})

    def step(self, event):
        """A check, and what goes wrong in it."""
        pick, publisher = self.random.choice, self.publisher
        cosigners = pick((self.witnesses, self.random.sample(self.witnesses, min(
            self.least, len(self.witnesses)))))
        if event in ("rollback", "fork"):
            publisher = copy.deepcopy(pick(self.former))
            for _ in range(self.random.randint(1, 3) if event == "fork" else 0):
                publisher.publish()
        elif event == "stranger":
            publisher = self.stranger
        elif event == "thief":
            publisher = copy.deepcopy(pick(self.former))
            publisher.succeed()
            publisher.publish()
        head = publisher.head(self.now, pick(publisher.keys) if event == "signer" else None)
        time = self.now - (LIFE + pick((500, 700)) if event == "old" else 0)
        if event == "cosigners":
            cosigners = cosigners[:self.least - 1]
        elif event == "forged" and cosigners:
            false = tlog.Signer(cosigners[0].name, cosigners[0].private.private_bytes_raw())
            false.private = pick(publisher.keys)
            cosigners = [false] + list(cosigners[1:])
        proof = publisher.proof(
            cosigners, time, origin="other.example/log" if event == "name" else None,
            cut={"cut": self.random.randint(1, 32), "bare": 99}.get(event, 0),
            key=pick(publisher.keys) if event == "logkey" else None)
        if event == "proofless":
            proof = pick((b"", proof[:-1], proof[:100], proof + b"\n", b"x" * 8193))
        elif event == "index":
            proof = publisher.proof(cosigners, time, self.random.randrange(len(publisher.leaves)))
        elif event == "damaged":
            place = self.random.randrange(len(proof))
            proof = proof[:place] + bytes([proof[place] ^ 1 << self.random.randrange(7)]) + proof[place + 1:]
        file, keys, more = head + proof, None, {}
        if event == "page":
            file = pick((b"", b"<html>" * 60, head[:200], head[:256], bytes(13_000), head + bytes(9000)))
        elif event == "keys":
            keys = pick((b"", bytes(4096), self.stranger.keys_file(), publisher.keys_file()[:-1]))
        elif event == "update":
            more["key"] = public(publisher.keys[-1] if self.script else pick(publisher.keys))
        elif event in ("withheld", "damage", "second") and publisher.count:
            name = "b/%020d-%s" % (publisher.count, publisher.hashes[-1][:8].hex())
            older = publisher.count - 1
            if not self.script and pick((True, False)) and older >= publisher.start:
                name = "b/%020d-%s" % (older, publisher.hashes[older - 1][:8].hex())
            data = publisher.files[name]
            if event == "withheld":
                more["withheld"] = name[2:].encode()
            elif event == "damage":
                place = pick((self.random.randrange(256), self.random.randrange(len(data))))
                more[name] = pick((
                    data[:place], data + b"x", b"<html>",
                    data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]))
            else:
                twin = copy.deepcopy(publisher)
                twin.count = int(name[2:22]) - 1
                twin.hashes = twin.hashes[:twin.count]
                twin.files = {}
                twin.publish()
                more[name] = next(iter(twin.files.values()))
        elif event == "again" and self.steps:
            last = self.steps[-1]
            file, keys = last["head"], last["keys"]
        now = self.now + {"ahead": 10 * 86_400, "behind": -5000}.get(event, 0)
        self.add(publisher, file, now, keys, **more)

    def write(self, directory, name):
        folder = directory / name
        files = {"key": self.key, "secrets": "".join(
            each.hex() + "\n" for each in self.secrets).encode()}
        if self.witnesses:
            files["policy"] = self.policy().encode()
        for number, step in enumerate(self.steps):
            files.update(("%d/%s" % (number, file), data) for file, data in step.items())
        files.update(("../" + file, data) for file, data in self.batches.items())
        for file, data in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        (folder / "result").write_text(result(folder))


EVENTS = ("rollback", "rollback", "fork", "stranger", "thief", "signer", "page", "keys", "update",
          "withheld", "withheld", "damage", "damage", "second", "again", "ahead", "behind")
PROOFS = ("cosigners", "forged", "name", "cut", "bare", "logkey", "proofless", "index", "damaged", "old")


SCRIPTS = {
    "rollback": "publish check publish check rollback page check",
    "fork": "publish publish check fork publish check",
    "succession": "publish check succeed publish check signer succeed publish check update check",
    "thief": "publish check thief check succeed publish check update update check",
    "lost": "publish publish check publish withheld publish withheld check retire publish check",
    "gap": "publish check publish withheld publish retire retire check check",
    "damage": "publish damage damage check publish second check",
    "clocks": "publish ahead behind check",
    "proof": "witnesses publish check cosigners forged index name logkey proofless publish check",
    "history": "witnesses publish check publish bare cut away check old",
}


def main():
    if sys.argv[1] == "vectors":
        for name, script in SCRIPTS.items():
            History("vector " + name, script.split()).write(pathlib.Path(sys.argv[2]), name)
    elif sys.argv[1] == "make":
        seed, count, directory = int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
        for number in range(count):
            History("%d %d" % (seed, number)).write(directory, str(number))
    else:
        for folder in pathlib.Path(sys.argv[2]).iterdir():
            if folder.name != "b" and result(folder) != (folder / "result").read_text():
                sys.exit("%s says something else" % folder.name)


if __name__ == "__main__":
    main()
