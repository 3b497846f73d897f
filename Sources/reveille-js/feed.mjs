/** The checks of a feed (Policy/FEED.md, section 9), for a client that keeps its state. */

import {
    ascii, base64URL, big, blake2b, equal, hex, isKey, isZero, join, littleEndian, mayBegin,
    openNote, search, seconds, small, unhex, valueOf, verifies,
} from "./crypto.mjs";
import {Proof, binary, isName, keyIDOf, sha256} from "./log.mjs";

/** Bytes that are not what they should be; `code` is FEED.md's name of the error. */
export class Refused extends Error {
    constructor(code) {
        super(code);
        this.name = "Refused";
        this.code = code;
    }
}

function require(condition, code) {
    if (!condition) throw new Refused(code);
}

const MATCH_KEY = blake2b(32, ascii("wake-feed/match/1"));
const feedIDOf = key => blake2b(16, join(ascii("wake-feed-id"), key));
const shortID = key => blake2b(16, key).subarray(0, 8);
const HEAD_FILE = 12_104, KEYS = 4096, LARGEST = 4 << 20, TOLERANCE = 600n, END = 1n << 63n;

/** The key that signed, by its place: key ID and signature end all layouts. -1 for none. */
async function signerOf(bytes, domain, at, keys, from = 0) {
    for (let i = from; i < keys.length; i++) {
        if (!equal(bytes.subarray(at, at + 8), shortID(keys[i]))) continue;
        const message = join(ascii(domain), bytes.subarray(0, at + 8));
        if (await verifies(keys[i], message, bytes.slice(at + 8, at + 72))) return i;
    }
    return -1;
}

/** Checks of the file `keys`.
 * @returns a list of [key, number of its first batch] */
async function readKeys(file) {
    require(file.length >= KEYS, "truncated");
    require(file.length === KEYS, "tooLarge");
    const links = [];
    for (let at = 0; at < KEYS; at += 256) {
        const record = file.subarray(at, at + 256);
        if (at > 0 && isZero(record)) {
            require(isZero(file.subarray(at)), "malformedKeys");
            break;
        }
        const key = record.slice(64, 96), [before] = links.at(-1) ?? [key];
        require(mayBegin(record, "WAKEKY01")
            && await signerOf(record, "wake-feed/acceptance/1\n", 184, [key]) === 0
            && await signerOf(record, "wake-feed/succession/1\n", 112, [before]) === 0,
            "badSignature");
        require(equal(record.subarray(8, 24), feedIDOf(links[0]?.[0] ?? key)), "wrongFeed");
        const from = big(record, 24, 8), [, least] = links.at(-1) ?? [key, 1n];
        require(from >= least && from < END - 1n && (links.length > 0 || from === 1n)
            && equal(record.subarray(32, 64), before) && isZero(record, 96, 112)
            && !links.some(([each]) => equal(each, key)), "malformedKeys");
        links.push([key, from]);
    }
    return links;
}

/** The numbers of a head. */
class Head {
    /** Steps 1 to 3. */
    constructor(file) {
        require(file.length <= HEAD_FILE, "tooLarge");
        require(mayBegin(file, "WAKEHD02"), "badSignature");
        require(file.length >= 256, "truncated");
        this.sequence = big(file, 24, 8);
        this.first = big(file, 32, 8);
        const count = BigInt.asUintN(64, this.sequence + 1n - this.first);
        require(count <= 448n, "badSignature");
        this.end = 256 + 8 * Number(count);
        require(file.length >= this.end + 72, "truncated");
        this.bytes = file.slice(0, this.end + 72);
        this.issued = big(file, 40, 8);
        this.expires = big(file, 48, 8);
        this.headerHash = file.slice(56, 88);
        this.keyID = file.slice(this.end, this.end + 8);
    }

    /** Steps 7 to 9. */
    check() {
        const {bytes, sequence, first, issued, expires} = this;
        require(isZero(bytes, 184, 256), "malformedHead(reservedBytes)");
        require(sequence < END - 1n && first >= 1n && first <= sequence + 1n && issued < END
            && expires < END, "malformedHead(range)");
        const last = this.suffix(sequence);
        require((!last || equal(last, this.headerHash.subarray(0, 8)))
            && (sequence > 0n || isZero(this.headerHash)), "malformedHead(table)");
    }

    /** Null for a batch that it does not name. */
    suffix(number) {
        if (number < this.first || number > this.sequence) return null;
        const at = 256 + 8 * Number(number - this.first);
        return this.bytes.subarray(at, at + 8);
    }

    /** Whether the two name different batches under one number. */
    contradicts(other) {
        for (let each = this.first; each <= this.sequence; each++) {
            const known = other.suffix(each);
            if (known && !equal(known, this.suffix(each))) return true;
        }
        return false;
    }
}

/**
 * The state of a client of one feed, and the checks. `state` is plain JSON: it is stored in one
 * transaction with the matches that were found.
 */
export class Feed {
    /**
     * @param key 32 bytes: one of the feed's keys, best the newest
     * @param state what `state` was before; nothing for a new client
     * @param policy a `WitnessPolicy`: heads without its witnesses are not believed
     */
    constructor(key, {state = null, policy = null} = {}) {
        if (!isKey(key)) throw new TypeError("this is no key of a feed");
        this.key = key;
        this.policy = policy;
        const isOf = state
            && (state.issued !== null || state.keys.some(([each]) => each === hex(key)));
        this.state = isOf ? structuredClone(state) : {
            keys: [[hex(key), "1"]], signer: 0, head: null, issued: null, sequence: "0",
            headerHash: "0".repeat(64), missing: [], log: null, isForked: false, seen: 0,
            settings: {
                pollSeconds: 14_400, spreadSeconds: 300, flags: 0, pauseSeconds: 0,
                minimumClientVersion: 0, cacheSeconds: 30,
            },
        };
        this.#load();
    }

    #load() {
        this.links = this.state.keys.map(([key, from]) => [unhex(key), BigInt(from)]);
        this.feedID = feedIDOf(this.links[0][0]);
        this.head = this.state.head && new Head(unhex(this.state.head));
    }

    #placeOf(key, links = this.links) { return links.findIndex(([each]) => equal(each, key)); }

    #fork() {
        this.state.isForked = true;
        throw new Refused("fork");
    }

    /** Whether the file `keys` is fetched after this head, before it is read. */
    needsKeys(file) {
        try {
            const {keyID} = new Head(file);
            return this.state.issued === null || this.#placeOf(this.key) < 0
                || !equal(keyID, shortID(this.links[this.state.signer][0]));
        } catch {
            return false;
        }
    }

    /**
     * Checks the file `head`. Nothing has changed where it is refused, but after a fork.
     *
     * @param keys the file, where it was needed and came
     * @param now seconds since 1970
     * @returns warnings: stale, clockSkew, gap, staleProof
     */
    async readHead(file, {keys = null, now = seconds()} = {}) {
        const offered = keys && await readKeys(keys).catch(() => null);
        const isForeign = !!offered && this.#placeOf(this.key, offered) < 0;
        const unsigned = isForeign ? "wrongFeed" : "badSignature";
        const {links, signer: known} = offered && !isForeign ? this.#extended(offered)
            : {links: this.links, signer: this.state.signer};
        const feedID = feedIDOf(links[0][0]), all = links.map(([key]) => key);
        const head = new Head(file), self = this.#placeOf(this.key, links);
        require(self >= 0, offered ? "wrongFeed" : "badSignature");
        const signer = await signerOf(
            head.bytes, "wake-feed/head/2\n", head.end, all, Math.max(known, self));
        require(signer >= 0, unsigned);
        require(equal(head.bytes.subarray(8, 24), feedID), "wrongFeed");
        head.check();
        require(signer + 1 === links.length || head.sequence < links[signer + 1][1], unsigned);
        const sequence = BigInt(this.state.sequence), hash = this.#headerHash;
        // Signed, and another history: that is more than old.
        const contradicts = !!this.head && head.contradicts(this.head);
        if (head.sequence < sequence && !contradicts) throw new Refused("rollback");
        const own = head.suffix(sequence);
        if (contradicts || hash && (head.sequence === sequence && !equal(head.headerHash, hash)
            || own && !equal(own, hash.subarray(0, 8)))) this.#fork();
        const proven = this.policy
            && await this.#prove(file.slice(head.bytes.length), head, links, signer, BigInt(now));
        if (this.state.isForked) throw new Refused("fork");
        return this.#adopt(head, links, signer, proven, BigInt(now));
    }

    get #headerHash() { return this.state.headerHash && unhex(this.state.headerHash); }

    /** The known keys are never given up, but for a configured one that is not among them. */
    #extended(offered) {
        const {links, state} = this, start = this.#placeOf(links[0][0], offered);
        const continues = start >= 0
            && links.every(([key], index) => equal(offered[start + index]?.[0] ?? [], key));
        if (state.issued !== null && !equal(feedIDOf(offered[0][0]), this.feedID)
            || this.#placeOf(this.key) >= 0 && !continues) return {links, signer: state.signer};
        const signer = Math.max(this.#placeOf(links[state.signer][0], offered), 0);
        return {links: offered, signer};
    }

    #adopt(head, links, signer, proven, now) {
        const {state} = this, warnings = [], sequence = BigInt(state.sequence);
        if (head.expires < now - TOLERANCE) warnings.push("stale");
        if (head.issued > now + TOLERANCE) warnings.push("clockSkew");
        const isGap = sequence + 1n < head.first, count = state.missing.length;
        state.missing = state.missing.filter(([each]) => BigInt(each) >= head.first);
        if (isGap && state.issued !== null || state.missing.length < count) warnings.push("gap");
        if (proven?.isStale) warnings.push("staleProof");
        if (isGap) {
            state.sequence = String(head.first - 1n);
            state.headerHash = null;
        }
        if (BigInt(state.sequence) === head.sequence) state.headerHash = hex(head.headerHash);
        state.keys = links.map(([key, from]) => [hex(key), String(from)]);
        state.signer = signer;
        state.head = hex(head.bytes);
        if (proven) state.log = proven.log;
        if (state.issued === null || head.issued >= BigInt(state.issued)) {
            if (state.issued !== String(head.issued)) state.seen = Number(now);
            state.issued = String(head.issued);
            const names = Object.keys(state.settings);
            for (const [index, at] of [96, 100, 104, 108, 112, 116].entries()) {
                state.settings[names[index]] = small(head.bytes, at, 4);
            }
        }
        this.#load();
        return warnings;
    }

    /** Section 15, "Verification", in its order. */
    async #prove(bytes, head, links, signer, now) {
        const proof = Proof.read(bytes), {policy} = this, known = this.state.log;
        require(proof, "proof(malformed)");
        require(await proof.includes(await sha256(join([0], head.bytes))), "proof(otherHead)");
        const name = binary(ascii(base64URL(feedIDOf(links[0][0]))));
        const isAllowed = policy.logs.length === 0 ? proof.origin === name : policy.logs.some(
            log => log.name === proof.origin && links.some(([key]) => hex(key) === log.material));
        require(isName(proof.origin) && isAllowed, "proof(otherLog)");
        const live = links.slice(signer).map(([key]) => key);
        const signers = await Promise.all(live.map(async key => (
            {name: proof.origin, id: await keyIDOf(proof.origin, 1, key), type: 1, key})));
        const times = await proof.times([...signers, ...policy.witnesses]);
        require(times?.slice(0, live.length).some(time => time !== null), "proof(badSignature)");
        const cosigned = [...times.slice(live.length).entries()]
            .filter(([, time]) => time !== null);
        const isQuorum = list => policy.quorum(new Set(list.map(([place]) => place)));
        require(isQuorum(cosigned), "proof(noQuorum)");
        if (known) {
            const size = BigInt(known.size), root = unhex(known.root);
            require(known.origin === proof.origin, "proof(otherHistory)");
            require(proof.size >= size, "proof(rollback)");
            const isThere = proof.size === size ? equal(proof.root, root)
                : await proof.contains(size, root) ?? proof.size - size > 32n;
            require(isThere, "proof(otherHistory)");
        }
        const life = head.expires > head.issued ? head.expires - head.issued : 0n;
        const oldest = now - TOLERANCE - life;
        return {
            log: {origin: proof.origin, size: String(proof.size), root: hex(proof.root)},
            isStale: !isQuorum(cosigned.filter(([, time]) => time >= oldest)),
        };
    }

    /** The numbers of the batches that are named and were not checked, ascending. */
    unchecked() {
        const numbers = this.state.missing.map(([each]) => BigInt(each));
        const last = this.head?.sequence ?? 0n;
        for (let each = BigInt(this.state.sequence) + 1n; each <= last; each++) numbers.push(each);
        return numbers;
    }

    /** The path of a batch below the feed's URL. */
    path(number) {
        return `b/${String(number).padStart(20, "0")}-${hex(this.head.suffix(number))}`;
    }

    /**
     * Checks a batch of `unchecked`, and finds what belongs to the secrets. One that is refused, or
     * does not come, stays unchecked; later ones are read all the same.
     *
     * @param secrets a list of Uint8Array
     * @returns matches: `id`, `secret` (its place in the list) and `note`, null where there is none
     */
    async readBatch(number, file, secrets) {
        require(mayBegin(file, "WAKEBT01"), "badSignature");
        require(file.length >= 256, "truncated");
        const {state, head, links} = this;
        const header = file.subarray(0, 256), hash = blake2b(32, header);
        // What a signed successor names needs no signature: its key may have retired since.
        const named = state.missing.find(([each]) => BigInt(each) === number)?.[1] ?? null;
        const isNamed = named === hex(hash), all = links.map(([key]) => key);
        const signer = isNamed ? 0 : await signerOf(header, "wake-feed/batch/1\n", 184, all);
        require(signer >= 0, "badSignature");
        require(isZero(header, 136, 184), "corruptBatch(reservedBytes)");
        const count = small(header, 40, 4), [bits, kind] = header.subarray(44, 46);
        const noteBytes = small(header, 46, 2);
        require(big(header, 32, 8) < END && bits >= 40 && bits <= 54 && count >= 1024
            && count % 1024 === 0 && count <= 2 ** (64 - bits)
            && (kind === 0 && noteBytes === 0 || kind === 1 && noteBytes >= 42),
            "corruptBatch(shape)");
        require(equal(header.subarray(8, 24), this.feedID), "wrongFeed");
        require(big(header, 24, 8) === number, "corruptBatch(sequence)");
        const isDue = number >= links[signer][1]
            && (signer + 1 === links.length || number < links[signer + 1][1]);
        require(isNamed || isDue, "badSignature");
        const previous = header.subarray(64, 96), known = this.#headerHash;
        const before = head.suffix(number - 1n), sequence = BigInt(state.sequence);
        if (number === sequence + 1n && known && !equal(previous, known)
            || before && !equal(previous.subarray(0, 8), before)
            || !equal(hash.subarray(0, 8), head.suffix(number)) || named !== null && !isNamed
            || number === head.sequence && !equal(hash, head.headerHash)) this.#fork();
        const size = big(header, 128, 8);
        require(size <= LARGEST, "tooLarge");
        const end = Number(size) - count * noteBytes;
        require(count * (bits + 1) <= 8 * end && 8 * end <= count * (bits + 2),
            "corruptBatch(size)");
        require(file.length >= 256 + Number(size), "truncated");
        require(file.length === 256 + Number(size), "tooLarge");
        const payload = file.subarray(256);
        require(equal(blake2b(32, payload), header.subarray(96, 128)), "corruptBatch(payloadHash)");
        const salt = isZero(header, 48, 64) ? null : header.slice(48, 64);
        const wanted = secrets
            .map((secret, place) => ({place, value: valueOf(secret, salt, count, bits)}))
            .sort((a, b) => a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
        const places = search(
            payload.subarray(0, end), count, bits, wanted.map(({value}) => value));
        require(places, "corruptBatch(code)");
        const matches = wanted.flatMap(({place}, index) => {
            if (places[index] < 0) return [];
            const at = end + places[index] * noteBytes;
            const secret = secrets[place];
            const note = kind === 1 ? openNote(payload.slice(at, at + noteBytes), secret) : null;
            return [{id: this.#matchID(secret, note), secret: place, note}];
        });
        this.#checked(number, hex(hash), hex(previous));
        return matches.sort((a, b) => a.secret - b.secret);
    }

    #matchID(secret, note) {
        const length = littleEndian(secret.length, 2);
        return hex(blake2b(16, join(this.feedID, length, secret, note ?? []), MATCH_KEY));
    }

    #checked(number, hash, previous) {
        const {state} = this;
        state.missing = state.missing.filter(([each]) => BigInt(each) !== number);
        for (let each = BigInt(state.sequence) + 1n; each < number; each++) {
            state.missing.push([String(each), null]);
        }
        const before = state.missing.find(([each]) => BigInt(each) === number - 1n);
        if (before) before[1] = previous;
        if (number <= BigInt(state.sequence)) return;
        state.sequence = String(number);
        state.headerHash = hash;
    }

    /** Seconds for which wake-ups are still ignored; polls continue. */
    pauseLeft(now = seconds()) {
        const {settings, seen} = this.state, length = Math.min(settings.pauseSeconds, 259_200);
        return (settings.flags & 1) === 0 || now < seen ? 0 : Math.max(0, seen + length - now);
    }

    get isRetired() { return (this.state.settings.flags & 2) !== 0; }

    get mayRegister() { return (this.state.settings.flags & 6) === 0; }

    /** To be compared by two people; null before the first head (section 13). */
    get fingerprint() {
        if (!this.head) return null;
        const word = (high, low) => {
            const value = high << 8 | low, c = "bdfghjklmnprstvz", v = "aiou";
            return c[value >> 12] + v[value >> 10 & 3] + c[value >> 6 & 15] + v[value >> 4 & 3]
                + c[value & 15];
        };
        const {headerHash: hash} = this.head;
        const proquints = Array.from({length: 8}, (_, i) => word(hash[2 * i], hash[2 * i + 1]));
        return `${this.head.sequence} ${proquints.join("-")}`;
    }
}
