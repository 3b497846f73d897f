/**
 * The arithmetic of Policy/FEED.md, sections 1 and 4 to 7, for browsers and Node: bytes, BLAKE2b,
 * SipHash, Ed25519, sealed notes, and the search in the code of a batch.
 */

// ---- Bytes --------------------------------------------------------------------------------------

export const ascii = text => new TextEncoder().encode(text);
export const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
export const unhex = text =>
    Uint8Array.from(text.match(/../g) ?? [], digits => parseInt(digits, 16));
export const isZero = (bytes, from, to) => bytes.subarray(from, to).every(byte => byte === 0);
export const equal = (a, b) => a.length === b.length && a.every((byte, index) => byte === b[index]);

export const join = (...parts) => {
    const all = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
    let end = 0;
    for (const part of parts) {
        all.set(part, end);
        end += part.length;
    }
    return all;
};

/** Little-endian, up to 32 bits. */
export const small = (bytes, at, count) => {
    let value = 0;
    for (let i = count - 1; i >= 0; i--) value = value * 256 + bytes[at + i];
    return value;
};

/** Little-endian, of any size. */
export const big = (bytes, at = 0, count = bytes.length - at) => {
    let value = 0n;
    for (let i = count - 1; i >= 0; i--) value = value << 8n | BigInt(bytes[at + i]);
    return value;
};

export const littleEndian = (value, count) =>
    Uint8Array.from({length: count}, (_, i) => Number(BigInt(value) >> BigInt(8 * i) & 255n));

/** Whether bytes begin with a mark, as far as they go. */
export const mayBegin = (bytes, mark) => equal(bytes.subarray(0, mark.length),
    ascii(mark).subarray(0, Math.min(bytes.length, mark.length)));

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Without padding (RFC 4648, section 5). */
export function base64URL(bytes) {
    let text = "", bits = 0, count = 0;
    for (const byte of bytes) {
        bits = bits << 8 | byte;
        for (count += 8; count >= 6; count -= 6) text += DIGITS[bits >> count - 6 & 63];
        bits &= 63;
    }
    return count > 0 ? text + DIGITS[bits << 6 - count & 63] : text;
}

/** Null unless it is what `base64URL` writes. */
export function fromBase64URL(text) {
    const bytes = [];
    let bits = 0, count = 0;
    for (const character of text) {
        const value = DIGITS.indexOf(character);
        if (value < 0) return null;
        bits = (bits & 255) << 6 | value;
        if ((count += 6) >= 8) bytes.push(bits >> (count -= 8) & 255);
    }
    const isWhole = text.length % 4 !== 1 && (bits & (1 << count) - 1) === 0;
    return isWhole ? Uint8Array.from(bytes) : null;
}

/** With padding (section 4); null unless it is the only way to write it. */
export function fromBase64(text) {
    if (text.length % 4 !== 0 || /[-_]|=(?!=?$)/.test(text)) return null;
    return fromBase64URL(text.replace(/={1,2}$/, "").replaceAll("+", "-").replaceAll("/", "_"));
}

/** Evenly distributed, from 0 to 1. */
export const random = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
export const seconds = () => Math.floor(Date.now() / 1000);

// ---- BLAKE2b and SipHash, in halves of 32 bits: JavaScript has no other fast integers -----------

const words = text => Int32Array.from(text.match(/.{16}/g).flatMap(
    word => [parseInt(word.slice(8), 16), parseInt(word.slice(0, 8), 16)]));
const IV = words("6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1"
    + "510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179");
/** RFC 7693, section 2.7: a digit for each word, as places of low halves. */
const ORDER = Uint8Array.from([
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8",
    "905724afe1bc683d", "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a",
    "6fe9b308c2d714a5", "a2847615fb9e3cd0", "0123456789abcdef", "ea489fd61c02b753",
].join(""), digit => 2 * parseInt(digit, 16));

/** Section 3.1 of RFC 7693. */
function mix(v, m, a, b, c, d, x, y) {
    let al = v[a], ah = v[a + 1], bl = v[b], bh = v[b + 1];
    let cl = v[c], ch = v[c + 1], dl = v[d], dh = v[d + 1], t = m[x];
    al = al + bl | 0;
    ah = ah + bh + (al >>> 0 < bl >>> 0 ? 1 : 0) | 0;
    al = al + t | 0;
    ah = ah + m[x + 1] + (al >>> 0 < t >>> 0 ? 1 : 0) | 0;
    t = dl ^ al;
    dl = dh ^ ah;
    dh = t;
    cl = cl + dl | 0;
    ch = ch + dh + (cl >>> 0 < dl >>> 0 ? 1 : 0) | 0;
    bl ^= cl;
    bh ^= ch;
    t = bl >>> 24 | bh << 8;
    bh = bh >>> 24 | bl << 8;
    bl = t;
    al = al + bl | 0;
    ah = ah + bh + (al >>> 0 < bl >>> 0 ? 1 : 0) | 0;
    t = m[y];
    al = al + t | 0;
    ah = ah + m[y + 1] + (al >>> 0 < t >>> 0 ? 1 : 0) | 0;
    dl ^= al;
    dh ^= ah;
    t = dl >>> 16 | dh << 16;
    dh = dh >>> 16 | dl << 16;
    dl = t;
    cl = cl + dl | 0;
    ch = ch + dh + (cl >>> 0 < dl >>> 0 ? 1 : 0) | 0;
    bl ^= cl;
    bh ^= ch;
    v[a] = al;
    v[a + 1] = ah;
    v[b] = bl << 1 | bh >>> 31;
    v[b + 1] = bh << 1 | bl >>> 31;
    v[c] = cl;
    v[c + 1] = ch;
    v[d] = dl;
    v[d + 1] = dh;
}

const working = new Int32Array(32);

export function compress(h, m, count, isLast) {
    const v = working;
    v.set(h);
    v.set(IV, 16);
    v[24] ^= count;
    if (isLast) {
        v[28] = ~v[28];
        v[29] = ~v[29];
    }
    for (let r = 0; r < 192; r += 16) {
        mix(v, m, 0, 8, 16, 24, ORDER[r], ORDER[r + 1]);
        mix(v, m, 2, 10, 18, 26, ORDER[r + 2], ORDER[r + 3]);
        mix(v, m, 4, 12, 20, 28, ORDER[r + 4], ORDER[r + 5]);
        mix(v, m, 6, 14, 22, 30, ORDER[r + 6], ORDER[r + 7]);
        mix(v, m, 0, 10, 20, 30, ORDER[r + 8], ORDER[r + 9]);
        mix(v, m, 2, 12, 22, 24, ORDER[r + 10], ORDER[r + 11]);
        mix(v, m, 4, 14, 16, 26, ORDER[r + 12], ORDER[r + 13]);
        mix(v, m, 6, 8, 18, 28, ORDER[r + 14], ORDER[r + 15]);
    }
    for (let i = 0; i < 16; i++) h[i] ^= v[i] ^ v[i + 16];
}

/** The state of a hash before its first block. */
export function begin(size, keyLength = 0) {
    const h = IV.slice();
    h[0] ^= 0x01010000 ^ keyLength << 8 ^ size;
    return h;
}

/** BLAKE2b (RFC 7693) with `size` bytes of output. The halves are read as the machine has them:
 * every browser's has the lowest byte first. */
export function blake2b(size, message, key = new Uint8Array(0)) {
    const h = begin(size, key.length), m = new Int32Array(32), block = new Uint8Array(m.buffer);
    let count = 0;
    if (key.length > 0) {
        block.set(key);
        count = 128;
        compress(h, m, count, message.length === 0);
        if (message.length === 0) return new Uint8Array(h.buffer).slice(0, size);
    }
    let at = 0;
    do {
        const part = message.subarray(at, at + 128);
        block.fill(0);
        block.set(part);
        at += part.length;
        compress(h, m, count + at, at === message.length);
    } while (at < message.length);
    return new Uint8Array(h.buffer).slice(0, size);
}

const SIP = words("736f6d6570736575646f72616e646f836c7967656e6572617465646279746573");

/** SipHash-2-4 with 128 bits, of a message of 16 bytes. */
function sipHash(key, message) {
    const k = new Int32Array(key.slice().buffer), m = new Int32Array(6), v = SIP.slice();
    m.set(new Int32Array(message.slice().buffer));
    // The last block has no bytes but the message's length.
    m[5] = 16 << 24;
    for (let i = 0; i < 8; i++) v[i] ^= k[i & 3];
    const add = (a, b) => {
        v[a] = v[a] + v[b] | 0;
        v[a + 1] = v[a + 1] + v[b + 1] + (v[a] >>> 0 < v[b] >>> 0 ? 1 : 0) | 0;
    };
    const turn = (a, count, b) => {
        const low = v[a], high = v[a + 1];
        v[a] = (low << count | high >>> 32 - count) ^ v[b];
        v[a + 1] = (high << count | low >>> 32 - count) ^ v[b + 1];
    };
    const swap = a => ([v[a], v[a + 1]] = [v[a + 1], v[a]]);
    const rounds = count => {
        for (; count > 0; count--) {
            add(0, 2);
            add(4, 6);
            turn(2, 13, 0);
            turn(6, 16, 4);
            swap(0);
            add(4, 2);
            add(0, 6);
            turn(2, 17, 4);
            turn(6, 21, 0);
            swap(4);
        }
    };
    for (let i = 0; i < 6; i += 2) {
        v[6] ^= m[i];
        v[7] ^= m[i + 1];
        rounds(2);
        v[0] ^= m[i];
        v[1] ^= m[i + 1];
    }
    v[4] ^= 0xee;
    const out = new Int32Array(4);
    for (let half = 0; half < 4; half += 2) {
        rounds(4);
        for (let i = 0; i < 8; i++) out[half + (i & 1)] ^= v[i];
        v[2] ^= 0xdd;
    }
    return new Uint8Array(out.buffer);
}

// ---- Ed25519 ------------------------------------------------------------------------------------

const P = 2n ** 255n - 19n, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = value => (value % P + P) % P;

function power(base, exponent) {
    let result = 1n;
    for (let square = base; exponent > 0n; exponent >>= 1n, square = square * square % P) {
        if (exponent & 1n) result = result * square % P;
    }
    return result;
}

const inverse = value => power(mod(value), P - 2n);
const D = mod(-121665n * inverse(121666n));
const ROOT = power(2n, (P - 1n) / 4n);
const NEUTRAL = [0n, 1n, 1n, 0n];

/** RFC 8032, section 5.1.3, strictly: null for what is no point, or not written as it must be.
 * X, Y, Z and T of section 5.1.4. */
function point(bytes) {
    const all = big(bytes), y = BigInt.asUintN(255, all), isOdd = all >> 255n;
    if (y >= P) return null;
    const square = y * y % P, xx = mod((square - 1n) * inverse(D * square + 1n));
    let x = power(xx, (P + 3n) / 8n);
    if (x * x % P !== xx) x = x * ROOT % P;
    if (x * x % P !== xx || x === 0n && isOdd === 1n) return null;
    if ((x & 1n) !== isOdd) x = mod(-x);
    return [x, y, 1n, x * y % P];
}

function sum([x1, y1, z1, t1], [x2, y2, z2, t2]) {
    const a = (y1 - x1) * (y2 - x2) % P, b = (y1 + x1) * (y2 + x2) % P;
    const c = 2n * t1 * t2 % P * D % P, d = 2n * z1 * z2 % P;
    const e = b - a, f = d - c, g = d + c, h = b + a;
    return [e * f % P, g * h % P, f * g % P, e * h % P];
}

const isNeutral = ([x, y, z]) => mod(x) === 0n && mod(y - z) === 0n;

/** a·p + b·q */
function combined(a, p, b, q) {
    const both = sum(p, q);
    let result = NEUTRAL;
    for (let bit = 252n; bit >= 0n; bit--) {
        result = sum(result, result);
        const [isA, isB] = [a >> bit & 1n, b >> bit & 1n];
        if (isA || isB) result = sum(result, isA && isB ? both : isA ? p : q);
    }
    return result;
}

const BASE = point(littleEndian(mod(4n * inverse(5n)), 32));
/** Points whose order is 8 or less, by their y: no key, and no beginning of a signature. */
const SMALL = new Set([0n, 1n, P - 1n, P, P + 1n,
    0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
    0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n]);
/** What is known of keys, by their hexadecimal digits. */
const keyring = new Map();

/** Whether 32 bytes are a public key: a point of full order. */
export function isKey(bytes) {
    if (bytes.length !== 32) return false;
    const name = hex(bytes);
    if (!keyring.has(name)) {
        const p = point(bytes);
        const isGood = p && !SMALL.has(BigInt.asUintN(255, big(bytes)))
            && isNeutral(combined(L, p, 0n, NEUTRAL));
        keyring.set(name, {point: isGood ? p : null});
    }
    return keyring.get(name).point !== null;
}

export const digest = async (name, bytes) =>
    new Uint8Array(await crypto.subtle.digest(name, bytes));

/** Takes and refuses what libsodium does: what browsers differ in is decided here before. */
export async function verifies(key, message, signature) {
    if (signature.length !== 64 || !isKey(key)) return false;
    const s = big(signature, 32), known = keyring.get(hex(key));
    if (s >= L || SMALL.has(BigInt.asUintN(255, big(signature, 0, 32)))) return false;
    if (known.native === undefined) {
        known.native = await crypto.subtle.importKey(
            "raw", key, {name: "Ed25519"}, false, ["verify"]).catch(() => null);
    }
    if (known.native) {
        return crypto.subtle.verify({name: "Ed25519"}, known.native, signature, message);
    }
    const hash = await digest("SHA-512", join(signature.subarray(0, 32), key, message));
    const [x, y, z, t] = known.point;
    // s·B - k·A is the point that the signature begins with.
    const [rx, ry, rz] = combined(s, BASE, big(hash) % L, [-x, y, z, -t]);
    const unit = inverse(rz);
    const written = mod(ry * unit) | (mod(rx * unit) & 1n) << 255n;
    return written === big(signature, 0, 32);
}

// ---- Notes: XSalsa20-Poly1305 (FEED.md, section 7) ----------------------------------------------

const QUARTERS = [
    [0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11],
    [0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14],
];

function salsa(key, middle) {
    const text = ascii("expand 32-byte k");
    const start = new Int32Array(join(
        text.subarray(0, 4), key.subarray(0, 16), text.subarray(4, 8), middle, text.subarray(8, 12),
        key.subarray(16), text.subarray(12)).buffer);
    const x = start.slice();
    const turned = (sum, count) => sum << count | sum >>> 32 - count;
    for (let round = 0; round < 10; round++) {
        for (const [a, b, c, d] of QUARTERS) {
            x[b] ^= turned(x[a] + x[d] | 0, 7);
            x[c] ^= turned(x[b] + x[a] | 0, 9);
            x[d] ^= turned(x[c] + x[b] | 0, 13);
            x[a] ^= turned(x[d] + x[c] | 0, 18);
        }
    }
    return {start, x};
}

function xsalsa20(key, nonce, count) {
    const {x} = salsa(key, nonce.subarray(0, 16));
    const inner = new Uint8Array(
        Int32Array.from([0, 5, 10, 15, 6, 7, 8, 9], index => x[index]).buffer);
    const blocks = [];
    for (let block = 0; 64 * block < count; block++) {
        const {start, x} = salsa(inner, join(nonce.subarray(16), littleEndian(block, 8)));
        blocks.push(new Uint8Array(x.map((word, index) => word + start[index]).buffer));
    }
    return join(...blocks).subarray(0, count);
}

/** RFC 8439, section 2.5. */
function poly1305(key, message) {
    const r = big(key, 0, 16) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
    let total = 0n;
    for (let at = 0; at < message.length; at += 16) {
        const size = Math.min(16, message.length - at);
        total = (total + big(message, at, size) + (1n << BigInt(8 * size))) * r % (2n ** 130n - 5n);
    }
    return littleEndian(BigInt.asUintN(128, total + big(key, 16, 16)), 16);
}

const NOTE_KEY = blake2b(32, ascii("wake-feed/note/1"));

/** Null for a note that does not open. */
export function openNote(sealed, secret) {
    const cipher = sealed.slice(40);
    const stream = xsalsa20(
        blake2b(32, secret, NOTE_KEY), sealed.subarray(0, 24), 32 + cipher.length);
    if (!equal(poly1305(stream.subarray(0, 32), cipher), sealed.subarray(24, 40))) return null;
    for (let i = 0; i < cipher.length; i++) cipher[i] ^= stream[32 + i];
    const length = small(cipher, 0, 2);
    return length <= cipher.length - 2 ? cipher.slice(2, 2 + length) : null;
}

// ---- Search in a batch (sections 4 and 6) -------------------------------------------------------

/**
 * Reads the code of a batch's values from beginning to end.
 *
 * @param wanted values, ascending
 * @returns the place of each in the batch, -1 for none; null for what is no code
 */
export function search(code, count, bits, wanted) {
    const padded = new Uint8Array(code.length + 32), view = new DataView(padded.buffer);
    padded.set(code);
    const end = 8 * code.length, mask = 2 ** (bits - 32) - 1, scale = 2 ** (bits - 32);
    // Of a range of 2⁶⁴ at most, the upper half. All halves are numbers without a sign.
    const limit = count * scale;
    const high = wanted.map(value => Number(value >> 32n));
    const low = wanted.map(value => Number(value & 0xffffffffn));
    const places = new Array(wanted.length).fill(-1), quotients = new Int32Array(8);
    let at = 0, next = 0, valueHigh = 0, valueLow = -1;
    for (let row = 0; row < count; row += 8) {
        for (let k = 0; k < 8; k++) {
            let quotient = 0, window = view.getUint32(at >> 3, true) >>> (at & 7);
            while (window === 0) {
                const step = 32 - (at & 7);
                quotient += step;
                at += step;
                if (at >= end) return null;
                window = view.getUint32(at >> 3, true) >>> (at & 7);
            }
            const zeros = 31 - Math.clz32(window & -window);
            at += zeros + 1;
            quotients[k] = quotient + zeros;
            if (quotients[k] >= count) return null;
        }
        for (let k = 0; k < 8; k++) {
            if (at + bits > end) return null;
            const byte = at >> 3, shift = at & 7;
            const first = view.getUint32(byte, true), second = view.getUint32(byte + 4, true);
            const restLow = shift > 0 ? (first >>> shift | second << 32 - shift) >>> 0 : first;
            at += bits;
            valueLow += 1 + restLow;
            valueHigh += quotients[k] * scale + (second >>> shift & mask);
            if (valueLow > 0xffffffff) {
                valueLow -= 2 ** 32;
                valueHigh += 1;
            }
            if (valueHigh >= limit) return null;
            while (next < high.length && (high[next] < valueHigh
                || high[next] === valueHigh && low[next] <= valueLow)) {
                if (high[next] === valueHigh && low[next] === valueLow) places[next] = row + k;
                next++;
            }
        }
    }
    return end - at < 8 && (at === end || code[code.length - 1] >> (at & 7) === 0) ? places : null;
}

/** Hashes of secrets: one for each, not one for each batch. */
const hashes = new WeakMap();

export function valueOf(secret, salt, count, bits) {
    const hash = hashes.get(secret) ?? blake2b(32, join(ascii("wake-feed/digest/1"), secret));
    hashes.set(secret, hash);
    const found = salt ? sipHash(hash.subarray(16), salt) : hash.subarray(0, 16);
    return BigInt("0x" + hex(found)) * BigInt(count) >> BigInt(128 - bits);
}
