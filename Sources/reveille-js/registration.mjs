/**
 * The registration of one page or device at a Reveille service (Policy/PROTOCOL.md), as a machine:
 * it says what to send next, and when, and sends nothing. Times are seconds since 1970.
 */

import {
    ascii, base64URL, begin, compress, fromBase64URL, hex, join, random, unhex,
} from "./crypto.mjs";

const SHORTEST_RENEWAL = 86_400, LONGEST_RENEWAL = 86_400 * 7 / 3, LONGEST_PAUSE = 6 * 3600;
const between = (from, to) => from + Math.floor(random() * (to - from + 1));

/** What the service knows of a push token: members of `PushSubscription.toJSON()`, or `service` and
 * `token` of FCM. */
export function pushToken(subscription) {
    const {service = "webpush", endpoint, token, keys} = subscription.toJSON?.() ?? subscription;
    if (service !== "webpush") return {service, token};
    if (!keys) return {service, endpoint};
    return {service, endpoint, keys: {p256dh: keys.p256dh, auth: keys.auth}};
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class Registration {
    /** @param state what `state` was before: plain JSON, to be stored after each call and before a
     *     request leaves. A token that was forgotten cannot be deleted any more. */
    constructor(state = null) {
        this.state = state ? structuredClone(state) : {
            // 32 random bytes; null before the first request and after a deletion.
            token: null,
            wish: null,
            // What the service said 204 to.
            confirmed: null,
            isErasing: false,
            isRefused: false,
            failures: 0,
            nextTime: 0,
            challenge: null,
            proof: null,
            lastStatus: null,
        };
    }

    /** Whether the service has said that it holds the present push token. */
    get isRegistered() {
        const {wish, confirmed, isErasing} = this.state;
        return wish !== null && same(wish, confirmed) && !isErasing;
    }

    /** In the words of `reveille-client status`. */
    get name() {
        const {isErasing, wish, isRefused, challenge} = this.state;
        if (isErasing) return "unregistering";
        if (!wish) return "none";
        if (this.isRegistered) return "registered";
        return isRefused ? "refused" : challenge ? "proving" : "registering";
    }

    /** Registers a push token, at each start and whenever the browser issues another. */
    register(subscription, now) {
        const {state} = this, wish = pushToken(subscription);
        if (!same(wish, state.wish)) {
            state.isRefused = false;
            // A pause that the service asked for holds for every token.
            if (state.failures === 0 && !same(wish, state.confirmed)) state.nextTime = now;
        }
        state.wish = wish;
    }

    /** Deletes the registration; the service has forgotten it when `next` says rest. */
    erase(now) {
        const {state} = this;
        const isErasing = state.token !== null;
        Object.assign(state, {wish: null, challenge: null, proof: null, isErasing});
        if (state.isErasing) Object.assign(state, {failures: 0, nextTime: now});
    }

    /** What to do now: `{kind}` of send (with `request`), solve (with `challenge`), wait (until
     * `time`), or rest. */
    next(now) {
        const {state} = this;
        if (!state.isErasing && (!state.wish || state.isRefused)) return {kind: "rest"};
        // A clock that was set back must not stop renewals.
        state.nextTime = Math.min(state.nextTime, now + LONGEST_RENEWAL);
        if (now < state.nextTime) return {kind: "wait", time: state.nextTime};
        if (state.challenge && !state.proof) {
            const left = state.challenge.expires - now;
            if (left > 0 && left <= 3600) return {kind: "solve", challenge: state.challenge};
            state.challenge = null;
        }
        state.token ??= hex(crypto.getRandomValues(new Uint8Array(32)));
        const authorization = `Bearer ${base64URL(unhex(state.token))}`;
        if (state.isErasing) return {kind: "send", request: {method: "DELETE", authorization}};
        const {wish, proof} = state;
        // Of one length, whatever is in it.
        const body = JSON.stringify(proof ? {...wish, proof} : wish);
        const length = ascii(body).length;
        return {kind: "send", request: {
            method: "PUT", authorization, body: body + " ".repeat(Math.max(0, 1024 - length)), wish,
            hasProof: proof !== null,
        }};
    }

    /** Continues after a search. @param proof null: none was found, and a later search begins at
     *     `nonce`; without that number the challenge is given up */
    add(proof, challenge, nonce) {
        const {state} = this;
        if (state.challenge?.text !== challenge.text) return;
        state.proof = proof;
        if (proof === null && nonce === undefined) state.challenge = null;
        if (state.challenge && nonce !== undefined) state.challenge.nonce = nonce;
    }

    /** @param retryAfter the field, or null
     * @param problem the body of an answer with another status than 204 */
    received(status, request, retryAfter, problem, now) {
        const {state} = this;
        Object.assign(state, {proof: null, challenge: null, lastStatus: status});
        if (status === 204) {
            this.#succeeded(request, now);
            return;
        }
        const isNumber = /^[0-9]{1,9}$/.test(retryAfter ?? "");
        const asked = isNumber ? Math.min(Number(retryAfter), 86_400) : 0;
        if (request.method === "DELETE") {
            this.#pause(now, asked);
        } else if (status === 429) {
            if (!state.isErasing) state.challenge = challengeIn(problem, state.token, now);
            // A proof that was not enough: many come, and not at once again.
            if (!state.challenge || request.hasProof) this.#pause(now, state.challenge ? 0 : asked);
        } else if (status === 422) {
            // Only the operator can change that.
            this.#pause(now, LONGEST_PAUSE);
        } else if (status === 400 || status === 401 || status === 413) {
            // Not of the form that this service takes: a defect of the page, or of the token.
            state.isRefused = same(request.wish, state.wish);
        } else {
            this.#pause(now, asked);
        }
    }

    /** The request got no answer. The service may have done it: it will be sent again. */
    failed(now) {
        this.state.lastStatus = null;
        this.#pause(now, 0);
    }

    #succeeded(request, now) {
        const {state} = this;
        Object.assign(state, {failures: 0, nextTime: now});
        if (request.method === "DELETE") {
            Object.assign(state, {token: null, confirmed: null, isErasing: false});
        } else if (!state.isErasing) {
            state.confirmed = request.wish;
            if (same(request.wish, state.wish)) {
                state.nextTime = now + between(SHORTEST_RENEWAL, LONGEST_RENEWAL);
            }
        }
    }

    /** 30 s and twice as long each time, 6 hours at most, and half of it at random. */
    #pause(now, asked) {
        const {state} = this, longest = Math.min(30 * 2 ** state.failures, LONGEST_PAUSE);
        state.failures = Math.min(state.failures + 1, 16);
        state.nextTime = now + asked + between(longest / 2, longest);
    }
}

/** Null if a problem asks for no work, or for more than a device should do. */
function challengeIn(problem, token, now) {
    try {
        const {code, challenge, bits, seconds} = JSON.parse(problem);
        const isOne = code === "proof_needed" && challenge.length === 32 && fromBase64URL(challenge)
            && Number.isInteger(bits) && bits >= 1 && bits <= 26 && seconds >= 1;
        const expires = now + Math.min(seconds, 3600);
        return isOne ? {text: challenge, bits, token, expires, nonce: 0} : null;
    } catch {
        return null;
    }
}

/**
 * Searches the proof of a challenge in slices, between which the page lives on.
 *
 * @param isRunning false ends it
 * @returns `proof`, or null and the `nonce` at which to continue
 */
export async function solve(challenge, isRunning = () => true, sliceMilliseconds = 16) {
    const m = new Int32Array(32), message = new Uint8Array(m.buffer);
    const start = begin(32), text = fromBase64URL(challenge.text);
    message.set(join(ascii("reveille-proof-1"), text));
    message.set(unhex(challenge.token), 46);
    let nonce = challenge.nonce ?? 0;
    while (isRunning()) {
        const end = performance.now() + sliceMilliseconds;
        do {
            for (let i = 0; i < 256; i++, nonce++) {
                // Six bytes, the most significant first, at place 40.
                message[41] = nonce / 2 ** 32;
                message[42] = nonce >>> 24;
                message[43] = nonce >>> 16;
                message[44] = nonce >>> 8;
                message[45] = nonce;
                const h = start.slice();
                compress(h, m, 78, true);
                const first = h[0] << 24 | h[0] << 8 & 0xff0000 | h[0] >>> 8 & 0xff00 | h[0] >>> 24;
                if (Math.clz32(first) >= challenge.bits) {
                    return {proof: base64URL(join(text, message.subarray(40, 46))), nonce};
                }
            }
        } while (performance.now() < end);
        await new Promise(resume => setTimeout(resume));
    }
    return {proof: null, nonce};
}
