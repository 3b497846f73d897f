/**
 * The log of a feed's heads (Policy/FEED.md, section 15): proofs and policies of witnesses, in the
 * formats of C2SP.
 */

import {ascii, big, digest, equal, fromBase64, hex, isKey, join, verifies} from "./crypto.mjs";

// ---- Notes as text of bytes: each character stands for one byte ---------------------------------

export const binary = bytes => Array.from(bytes, byte => String.fromCharCode(byte)).join("");
const bytesOf = text => Uint8Array.from(text, character => character.charCodeAt(0));

/** What the bytes say as UTF-8; null if they do not. */
function utf8(text) {
    try {
        return new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(bytesOf(text));
    } catch {
        return null;
    }
}

/** A key's name: no space, no control character, no plus sign. */
export function isName(text) {
    const name = utf8(text);
    return !!name && !/[+\u0000-\u001f]|\p{White_Space}/u.test(name);
}

function wholeNumber(text) {
    return /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) < 1n << 64n ? BigInt(text) : null;
}

export const sha256 = bytes => digest("SHA-256", bytes);
const node = (left, right) => sha256(join([1], left, right));

export async function keyIDOf(name, type, key) {
    return hex((await sha256(join(bytesOf(name), [10, type], key))).subarray(0, 4));
}

/** `name+key ID+base64(type || key)` of C2SP signed-note; null for anything else. */
async function noteKey(text) {
    const parts = /^([^+]*)\+([0-9a-f]{8})\+([^]*)$/.exec(text);
    const encoded = parts && fromBase64(parts[3]);
    if (!encoded || encoded.length < 2 || !isName(parts[1])) return null;
    const [, name, id] = parts, type = encoded[0], key = encoded.subarray(1);
    const isOurs = type === 1 || type === 4;
    if (isOurs && !isKey(key) || type === 6 && key.length !== 1312) return null;
    // The ID of other types need not be the recommended hash.
    if ((isOurs || type === 6) && id !== await keyIDOf(name, type, key)) return null;
    return {name, id, type, material: hex(key), key: isOurs ? key : null};
}

/** A policy of witnesses: the text format of C2SP tlog-policy. */
export class WitnessPolicy {
    /** @throws Error with line and reason */
    static async read(text) {
        const bytes = binary(typeof text === "string" ? ascii(text) : text);
        const policy = new WitnessPolicy();
        policy.logs = [];
        policy.witnesses = [];
        policy.quorum = null;
        const rules = new Map(), members = new Set();
        if (bytes.length > 256 << 10) throw new Error("line 1: the policy is too long");
        for (const [index, line] of bytes.split("\n").entries()) {
            const fault = await policy.#take(line, rules, members);
            if (fault) throw new Error(`line ${index + 1}: ${fault}`);
        }
        if (!policy.quorum) throw new Error("there is no quorum line");
        return policy;
    }

    async #take(line, rules, members) {
        if (/[\x00-\x08\x0a-\x1f\x7f]/.test(line)) return "a control character";
        const [keyword, ...rest] = line.split(/[ \t]+/).filter(word => word !== "");
        if (keyword === undefined || keyword.startsWith("#")) return null;
        const define = (name, rule) => {
            if (name === "none") return "the name none means no witness";
            if (rules.has(name)) return "the name is taken by a line before this one";
            rules.set(name, rule);
            return null;
        };
        const counts = new Map([
            ["log", [1, 2]], ["witness", [2, 3]], ["group", [3, Infinity]], ["quorum", [1, 1]],
        ]).get(keyword);
        if (!counts) return "a line begins with log, witness, group or quorum";
        if (rest.length < counts[0] || rest.length > counts[1]) return "too few or too many words";
        if (keyword === "log" || keyword === "witness") {
            const list = keyword === "log" ? this.logs : this.witnesses;
            const key = await noteKey(keyword === "log" ? rest[0] : rest[1]);
            if (!key) return "no verifier key";
            const cosigns = key.type === 4 || key.type === 6;
            if (keyword === "witness" && !cosigns) return "the key cosigns nothing";
            if (list.some(({material}) => material === key.material)) {
                return "the key is on a line before this one already";
            }
            if (list.length >= 64) return "too many";
            const place = list.length;
            const fault = keyword === "witness"
                ? define(rest[0], cosigners => cosigners.has(place)) : null;
            if (!fault) list.push(key);
            return fault;
        }
        if (keyword === "quorum") {
            if (this.quorum) return "there is a quorum line already";
            this.quorum = rest[0] === "none" ? () => true : rules.get(rest[0]) ?? null;
            return this.quorum ? null : "no line before this one defines that name";
        }
        if (rules.size >= 128) return "too many";
        const [name, threshold, ...names] = rest;
        for (const each of names) {
            if (!rules.has(each)) return "no line before this one defines that name";
            if (members.has(each)) return "the name is a member of a group already";
            members.add(each);
        }
        const parts = names.map(each => rules.get(each));
        const least = threshold === "any" ? 1n : threshold === "all" ? BigInt(parts.length)
            : wholeNumber(threshold);
        if (least === null || least < 1n || least > parts.length) return "the number of members";
        return define(name, cosigners =>
            parts.filter(isMet => isMet(cosigners)).length >= Number(least));
    }
}

export class Proof {
    /** `c2sp.org/tlog-proof@v1`; null for anything else. */
    static read(bytes) {
        const text = binary(bytes), lines = text.split("\n");
        // The last part has no newline: nothing that is read by lines.
        let line = 0;
        const next = () => line < lines.length - 1 ? lines[line++] : null;
        const proof = new Proof();
        if (bytes.length > 8192 || next() !== "c2sp.org/tlog-proof@v1") return null;
        let words = next();
        if (words?.startsWith("extra ")) {
            proof.extra = fromBase64(words.slice(6));
            words = next();
            if (!proof.extra) return null;
        }
        proof.index = words?.startsWith("index ") ? wholeNumber(words.slice(6)) : null;
        proof.hashes = [];
        let hash = next();
        for (; hash; hash = next()) {
            const decoded = fromBase64(hash);
            if (decoded?.length !== 32 || proof.hashes.length === 63) return null;
            proof.hashes.push(decoded);
        }
        if (proof.index === null || hash === null) return null;
        return proof.#readNote(lines.slice(line).join("\n")) ? proof : null;
    }

    /** A signed note whose text is a checkpoint. */
    #readNote(note) {
        const end = note.lastIndexOf("\n\n");
        const isText = note.endsWith("\n") && !/[\x00-\x09\x0b-\x1f]/.test(note);
        if (end < 0 || !isText || utf8(note) === null) return false;
        this.text = note.slice(0, end + 1);
        const signatures = note.slice(end + 2).split("\n").slice(0, -1);
        // An em dash of three bytes and a space.
        this.signatures = signatures.map(line => {
            const [mark, name, encoded, ...more] = line.split(" ");
            const signed = encoded === undefined ? null : fromBase64(encoded);
            const isLine = mark === "\xe2\x80\x94" && more.length === 0 && isName(name);
            return isLine && signed?.length > 4
                ? {name, id: hex(signed.subarray(0, 4)), bytes: signed.subarray(4)} : null;
        });
        const [origin, size, root, ...extensions] = this.text.slice(0, -1).split("\n");
        this.origin = origin;
        this.size = wholeNumber(size ?? "");
        this.root = fromBase64(root ?? "");
        return signatures.length > 0 && signatures.length <= 100 && !this.signatures.includes(null)
            && origin !== "" && this.size !== null && this.root?.length === 32
            && !extensions.includes("");
    }

    /** RFC 9162, section 2.1.3.2. */
    async includes(leaf) {
        if (this.index >= this.size) return false;
        let first = this.index, last = this.size - 1n, hash = leaf;
        for (const sibling of this.hashes) {
            if (last === 0n) return false;
            if ((first & 1n) === 1n || first === last) {
                hash = await node(sibling, hash);
                for (; (first & 1n) === 0n && first !== 0n; last >>= 1n) first >>= 1n;
            } else {
                hash = await node(hash, sibling);
            }
            [first, last] = [first >> 1n, last >> 1n];
        }
        return last === 0n && equal(hash, this.root);
    }

    /** Whether the tree of that size and root is one of those that `extra` has: true, false (it has
     * another one, or leads elsewhere), null (it does not reach back so far, or is none). */
    async contains(size, root) {
        const extra = this.extra ?? [];
        if (extra.length < 2) return null;
        const count = extra[0] << 8 | extra[1];
        if (count > this.size || count > 32) return null;
        let leaves = this.size - BigInt(count);
        const parts = leaves.toString(2).replaceAll("0", "").length;
        if (extra.length !== 2 + 32 * (parts + count)) return null;
        const all = Array.from(
            {length: parts + count}, (_, i) => extra.subarray(2 + 32 * i, 34 + 32 * i));
        const roots = all.slice(0, parts), start = leaves;
        const rootNow = async () => {
            if (roots.length === 0) return sha256(new Uint8Array(0));
            let hash = roots[roots.length - 1];
            for (let i = roots.length - 2; i >= 0; i--) hash = await node(roots[i], hash);
            return hash;
        };
        let found = size === leaves ? await rootNow() : null;
        for (let hash of all.slice(parts)) {
            for (let bit = leaves; bit & 1n; bit >>= 1n) hash = await node(roots.pop(), hash);
            roots.push(hash);
            leaves += 1n;
            if (leaves === size) found = await rootNow();
        }
        if (!equal(await rootNow(), this.root)) return false;
        return size < start ? null : found !== null && equal(found, root);
    }

    /** Verifies the signatures that keys have made: the first one of each counts.
     * @returns for each key its time (0n for one without), null where it has not signed; null for
     *     all where one is false */
    async times(keys) {
        const times = keys.map(() => null);
        for (const {name, id, bytes} of this.signatures) {
            for (const [index, each] of keys.entries()) {
                const isIts = each.key && each.id === id && each.name === name;
                if (!isIts || times[index] !== null) continue;
                const isTimed = each.type === 4;
                const time = isTimed ? big(bytes.slice(0, 8).reverse()) : 0n;
                const message = bytesOf(
                    (isTimed ? `cosignature/v1\ntime ${time}\n` : "") + this.text);
                const isGood = time < 1n << 63n
                    && await verifies(each.key, message, bytes.slice(isTimed ? 8 : 0));
                if (!isGood) return null;
                times[index] = time;
            }
        }
        return times;
    }
}
