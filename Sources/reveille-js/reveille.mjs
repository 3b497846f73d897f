/**
 * A client of a Reveille feed and service for web pages, service workers and Node, without
 * dependencies: serve the files of this folder next to the page. Deploy/BROWSER.md shows the use.
 */

import {base64URL, equal, fromBase64URL, hex, random, seconds, unhex} from "./crypto.mjs";
import {Feed, Refused} from "./feed.mjs";
import {WitnessPolicy} from "./log.mjs";
import {Registration, solve} from "./registration.mjs";

export {Feed, Refused, Registration, WitnessPolicy, base64URL, fromBase64URL, solve};

/** Every request is the same for all clients: nothing of the user, no cache, no redirect. */
const PLAIN = {
    credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
};
const HEAD_FILE = 12_104, KEYS = 4096, BATCH = 256 + (4 << 20), ANSWER = 4096;
/** The silence after which a request is given up, and the wait for a stream's first event. */
const SILENCE = 30_000, FIRST_EVENT = 60_000, STREAM_SILENCE = 600_000;
/** Failures in a row after which the other batches wait for the next check. */
const PATIENCE = 4;
/** Milliseconds: the first request of a check begins a multiple of these after the call, or after
 * the last one of the check before; the others a multiple of these after the first one, and a
 * little more, at random. So none tells how long an answer took to search and to store. */
const FIRST_STEP = 1000, STEP = 100, JITTER = 20;
/** Ids of matches that were shown: the last ones are kept. */
const DELIVERED = 4096;
/** Seconds for which another page may be showing a match, where there are no locks. */
const CLAIM = 60;
/** Days without a complete check after which a client warns. */
const SILENT_DAYS = 2;

const sleep = (milliseconds, signal) => new Promise(resume => {
    const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resume();
    };
    const timer = setTimeout(end, Math.min(Math.max(milliseconds, 0), 2 ** 31 - 1));
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
});

/** A request that got no usable answer; `code` is for support pages. */
class Unreachable extends Error {
    constructor(code) {
        super(code);
        this.code = code;
    }
}

// ---- Stores -------------------------------------------------------------------------------------

/**
 * One record in IndexedDB for all pages and workers of the origin: cursor, matches and registration
 * change in one transaction.
 *
 * Another store has the same two methods. `transact(change)` calls `change(record)` with what was
 * stored last, or null, and replaces it by what that returns, unless undefined; no other change
 * comes between. `exclusively(body)` runs one body at a time; false where it cannot say so.
 */
export class IndexedDBStore {
    #name;
    #database = null;

    constructor(name = "reveille") { this.#name = name; }

    #open() {
        return this.#database ??= new Promise((resolve, reject) => {
            const opening = indexedDB.open(this.#name, 1);
            opening.onupgradeneeded = () => opening.result.createObjectStore("state");
            opening.onerror = () => reject(opening.error);
            opening.onsuccess = () => {
                const database = opening.result;
                database.onversionchange = database.onclose = () => {
                    database.close();
                    this.#database = null;
                };
                resolve(database);
            };
        }).catch(error => {
            this.#database = null;
            throw error;
        });
    }

    async transact(change) {
        const database = await this.#open();
        return new Promise((resolve, reject) => {
            const transaction = database.transaction("state", "readwrite", {durability: "strict"});
            const records = transaction.objectStore("state"), reading = records.get("state");
            let failure = null;
            reading.onsuccess = () => {
                try {
                    const next = change(reading.result ?? null);
                    if (next !== undefined) records.put(next, "state");
                } catch (error) {
                    failure = error;
                    transaction.abort();
                }
            };
            transaction.oncomplete = () => resolve();
            transaction.onabort = () => reject(failure ?? transaction.error);
        });
    }

    exclusively(body) {
        return globalThis.navigator?.locks?.request(`reveille ${this.#name}`, body) ?? false;
    }
}

/** For tests, and for pages that keep nothing. */
export class MemoryStore {
    #record = null;
    #line = Promise.resolve();

    async transact(change) {
        const next = change(structuredClone(this.#record));
        if (next !== undefined) this.#record = structuredClone(next);
    }

    exclusively(body) {
        const run = this.#line.then(body);
        this.#line = run.catch(() => {});
        return run;
    }
}

// ---- The client ---------------------------------------------------------------------------------

export class WakeClient {
    #feed;
    #service;
    #key;
    #policy;
    #store;
    #secrets;
    #onMatch;
    /** The times of the first and the last request of the check. */
    #first = 0;
    #last = 0;
    #stream = {state: "unused", status: null};

    /**
     * @param feed the feed's URL, such as https://feed.example.org/feed/
     * @param feedKey 43 characters of base64url: one of the feed's keys, best the newest
     * @param service the service's URL; nothing for a client that only polls
     * @param secrets a function that returns (perhaps later) a list of `{id, bytes}`, 16 to 1024
     *     bytes each
     * @param onMatch is called with each `{id, secretID, note, sequence}` after the requests; once
     *     it has returned, perhaps later, the match is not shown again
     * @param policy text: the witnesses without whom no head is believed
     * @param store by default an IndexedDBStore
     */
    constructor({feed, feedKey, service, secrets, onMatch, policy, store = new IndexedDBStore()}) {
        this.#feed = new URL(feed.replace(/\/*$/, "/"));
        this.#service = service ? new URL(service.replace(/\/*$/, "/")) : null;
        this.#key = fromBase64URL(feedKey);
        if (typeof secrets !== "function" || typeof onMatch !== "function") {
            throw new TypeError("secrets and onMatch are functions");
        }
        this.#secrets = secrets;
        this.#onMatch = onMatch;
        this.#store = store;
        this.#policy = policy === undefined ? null : WitnessPolicy.read(policy);
        this.#policy?.catch(() => {});
        new Feed(this.#key ?? new Uint8Array(0));
    }

    // ---- What the app asks for ------------------------------------------------------------------

    /** Subscribes this browser to pushes with the service's key, and registers that. Of a click:
     * browsers ask the user. @param worker a ServiceWorkerRegistration */
    async subscribe(worker) {
        const answer = await this.#ask("GET", "v1/webpush");
        if (answer.status !== 200) throw new Unreachable(`status ${answer.status}`);
        const key = fromBase64URL(JSON.parse(answer.text).applicationServerKey);
        const former = await worker.pushManager.getSubscription();
        const formerKey = former?.options?.applicationServerKey;
        // Of another service, or of a key before this one: it wakes nobody any more.
        if (formerKey && !equal(new Uint8Array(formerKey), key)) await former.unsubscribe();
        const subscription = await worker.pushManager.subscribe(
            {userVisibleOnly: true, applicationServerKey: key});
        await this.register(subscription);
        return subscription;
    }

    /** Stores the push token to be registered; `cycle` does it. @param subscription a
     *     PushSubscription, or what its toJSON() gives */
    register(subscription) {
        return this.#registering(registration => registration.register(subscription, seconds()));
    }

    /** The same for the desire that the service holds nothing. */
    unregister() { return this.#registering(registration => registration.erase(seconds())); }

    #registering(change) {
        return this.#change(record => {
            const registration = new Registration(record.registration);
            change(registration);
            record.registration = registration.state;
        });
    }

    /** Everything that the service holds under this instance token, for its user; null for
     * nothing. */
    async storedRegistration() {
        const {token} = (await this.#read()).registration ?? {};
        if (!token) return null;
        const authorization = `Bearer ${base64URL(unhex(token))}`;
        const answer = await this.#ask("GET", "v1/registration", {authorization});
        if (answer.status !== 200) throw new Unreachable(`status ${answer.status}`);
        return JSON.parse(answer.text);
    }

    /** Asks for one push to this browser, to see that pushes arrive: as a rule within seconds.
     * @returns 0, or the seconds to wait before it is asked for again */
    async testPush() {
        const {registration} = await this.#read();
        if (!new Registration(registration).isRegistered) throw new Unreachable("notRegistered");
        const authorization = `Bearer ${base64URL(unhex(registration.token))}`;
        const {status, retryAfter} = await this.#ask(
            "POST", "v1/registration/wake", {authorization});
        if (status === 202) return 0;
        if (status !== 429 && status !== 503) throw new Unreachable(`status ${status}`);
        return Number(retryAfter) || 60;
    }

    /**
     * Does the registration work that is due, checks the feed once, and then calls `onMatch` for
     * every match that was not shown. A kill at any moment loses nothing: call it again.
     *
     * @param hint the sequence that a wake-up named
     * @returns `{outcome, failure, warnings, batches, delivered, again}`. The outcome is upToDate,
     *     checked, behind (a cache is stale: come again after `again` seconds), failed, retired, or
     *     shared (another page or worker has just done it). `again` is in seconds
     */
    async cycle({hint = 0, signal} = {}) {
        const asked = Date.now();
        const body = async isAlone => {
            const record = await this.#read();
            const isShared = isAlone && record.health.began > asked
                && hint <= this.#sequence(record);
            const end = isShared ? this.#end("shared") : await this.#work(hint, signal);
            end.delivered = await this.#deliver(isAlone);
            return end;
        };
        return await (this.#store.exclusively(() => body(true)) || body(false));
    }

    async #work(hint, signal) {
        const due = performance.now();
        await this.#change(record => void (record.health.began = Date.now()));
        const record = await this.#read(), isNew = record.feed === null;
        // A feed can ask for no registrations: a new client hears that first.
        if (!isNew) await this.#register(record, signal);
        let end;
        try {
            end = await this.#check(hint, due, signal);
        } catch (error) {
            if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
            // Another page was faster, where there are no locks: what it stored stands.
            end = error.code === "shared" ? this.#end("shared")
                : this.#end("failed", {failure: error.code});
        }
        if (isNew || end.outcome === "retired") {
            await this.#turn(signal);
            await this.#register(await this.#read(), signal);
        }
        await this.#change(({health}) => {
            health.failure = end.failure;
            health.warnings = end.warnings;
        });
        const settings = (await this.#read()).feed?.settings;
        end.again ??= end.failure ? 60 + 240 * random()
            : (settings?.pollSeconds ?? 14_400) * (0.9 + 0.2 * random());
        return end;
    }

    #end(outcome, more = {}) {
        return {outcome, failure: null, warnings: [], batches: 0, delivered: 0, ...more};
    }

    /**
     * Polls, and listens to the service's event stream, until the signal is aborted: for an open
     * page. Each check's result goes to `onCycle`.
     */
    async run({signal, onCycle = () => {}} = {}) {
        let hint = 0, attempts = 0, wake = null, due = 0;
        const listening = this.#service && this.#listen(signal, number => {
            hint = Math.max(hint, number);
            wake?.();
        });
        while (!signal?.aborted) {
            const record = await this.#read(), feed = this.#feedOf(record);
            const isNew = hint > this.#sequence(record) && feed.pauseLeft() === 0;
            if (isNew) {
                const {cacheSeconds, spreadSeconds} = feed.state.settings;
                const spread = record.feed ? Math.min(spreadSeconds, 3600) : 10;
                await sleep(1000 * (random() * spread + (attempts > 0 ? cacheSeconds : 0)), signal);
            } else if (performance.now() < due) {
                const pause = new AbortController(), end = () => pause.abort();
                wake = end;
                signal?.addEventListener("abort", end);
                await sleep(due - performance.now(), pause.signal);
                signal?.removeEventListener("abort", end);
                wake = null;
                continue;
            }
            if (signal?.aborted) break;
            const heard = hint, end = await this.cycle({hint: isNew ? heard : 0, signal});
            due = performance.now() + 1000 * end.again;
            attempts = end.outcome === "behind" ? attempts + 1 : 0;
            // An edge that stays stale, or a wake-up that was wrong: the next poll.
            if (attempts >= 5 || end.outcome !== "behind") {
                if (hint === heard) hint = 0;
                attempts = 0;
            }
            onCycle(end);
            if (end.outcome === "retired") break;
        }
        await listening;
    }

    /** What the client knows of itself; times are seconds since 1970, as in `reveille-client
     * status --json`. */
    async status() {
        const record = await this.#read(), feed = this.#feedOf(record), {health} = record;
        const unchecked = feed.unchecked().map(Number), now = seconds();
        const left = feed.pauseLeft(now);
        return {
            registration: new Registration(record.registration).name,
            registrationStatus: record.registration?.lastStatus ?? null,
            nextRegistration: record.registration?.nextTime || null,
            formerServices: record.former.length,
            sequence: this.#sequence(record),
            lastVerified: health.verified,
            lastChecked: health.checked,
            silentDays: health.first === null ? 0
                : Math.floor((now - (health.checked ?? health.first)) / 86_400),
            firstUnchecked: unchecked[0] ?? null,
            lastUnchecked: unchecked.at(-1) ?? null,
            matchesToDeliver: record.matches.length,
            pausedUntil: left > 0 ? now + left : null,
            retired: feed.isRetired,
            forked: feed.state.isForked,
            fingerprint: feed.fingerprint,
            minimumClientVersion: feed.state.settings.minimumClientVersion,
            sharesOrigin: this.#service?.origin === this.#feed.origin,
            stream: this.#stream.state,
            streamStatus: this.#stream.status,
            failure: health.failure,
            warnings: health.warnings,
        };
    }

    /** The status and the abilities of this browser as text for a support page: no token, address
     * or secret is in it. */
    async diagnostics() {
        const ed25519 = await crypto.subtle.importKey(
            "raw", this.#key, {name: "Ed25519"}, false, ["verify"]).then(() => true, () => false);
        const facts = {
            ...await this.status(), ed25519, locks: !!globalThis.navigator?.locks,
            push: "PushManager" in globalThis, store: this.#store.constructor.name,
            witnesses: this.#policy
                ? (await this.#policy.catch(() => null))?.witnesses.length ?? "bad" : 0,
        };
        return Object.entries(facts).map(([name, value]) => {
            const text = Array.isArray(value) ? value.join(" ") || null : value;
            return `${name}: ${text ?? "none"}`;
        }).join("\n");
    }

    // ---- The record -----------------------------------------------------------------------------

    #fresh() {
        return {
            version: 1, feed: null, registration: null, service: this.#service?.href ?? null,
            former: [], matches: [], delivered: [], revision: 0,
            health: {
                began: 0, first: null, verified: null, checked: null, failure: null, warnings: [],
            },
        };
    }

    /** One transaction. */
    #change(change) {
        return this.#store.transact(stored => {
            const record = stored ?? this.#fresh(), service = this.#service?.href ?? null;
            if (record.version !== 1) throw new Error("this state is of a newer version");
            if (record.service !== service) {
                // An instance token is for one service only: the former one erases it. So is a
                // subscription: the app makes another.
                if (record.registration?.token) {
                    const former = new Registration(record.registration);
                    former.erase(seconds());
                    record.former.push({service: record.service, state: former.state});
                }
                Object.assign(record, {service, registration: null});
            }
            change(record);
            return record;
        });
    }

    async #read() {
        let read = null;
        await this.#store.transact(stored => void (read = stored));
        if (read?.version === 1 && read.service === (this.#service?.href ?? null)) return read;
        await this.#change(record => void (read = structuredClone(record)));
        return read;
    }

    #feedOf(record, policy = null) { return new Feed(this.#key, {state: record.feed, policy}); }

    #sequence(record) { return Number(record.feed?.sequence ?? 0); }

    // ---- Registration ---------------------------------------------------------------------------

    async #register(record, signal) {
        for (const {service, state: {token}} of record.former) {
            await this.#advance(service, signal, found =>
                found.former.find(each => each.state.token === token));
            await this.#change(found => void (
                found.former = found.former.filter(each => each.state.token !== null)));
        }
        if (!this.#service) return;
        const isAllowed = this.#feedOf(record).mayRegister;
        if (!record.registration || !isAllowed && !record.registration.isErasing) return;
        await this.#advance(this.#service, signal, found => found, "registration");
    }

    /** Does what is due, one request at a time. */
    async #advance(service, signal, find, member = "state") {
        while (!signal?.aborted) {
            const step = await this.#machine(find, member, machine => machine.next(seconds()));
            if (!step || step.kind === "wait" || step.kind === "rest") return;
            if (step.kind === "solve") {
                const end = performance.now() + 20_000;
                const {proof, nonce} = await solve(
                    step.challenge, () => performance.now() < end && !signal?.aborted);
                await this.#machine(
                    find, member, machine => machine.add(proof, step.challenge, nonce));
                // The rest of a long search is done in the next cycle.
                if (!proof) return;
                continue;
            }
            const {method, authorization, body} = step.request;
            const answer = await this.#ask(
                method, "v1/registration", {authorization, body, service}).catch(() => null);
            await this.#machine(find, member, machine => answer
                ? machine.received(
                    answer.status, step.request, answer.retryAfter, answer.text, seconds())
                : machine.failed(seconds()));
        }
    }

    /** What a machine says, and its state after that, in one transaction. */
    async #machine(find, member, ask) {
        let said;
        await this.#change(record => {
            const place = find(record);
            if (!place) return;
            const machine = new Registration(place[member]);
            said = ask(machine);
            place[member] = machine.state;
        });
        return said;
    }

    /** One request to the service: its answer, of bounded length. */
    async #ask(method, path, {authorization, body, service = this.#service} = {}) {
        const headers = {};
        if (authorization) headers.Authorization = authorization;
        if (body) headers["Content-Type"] = "application/json";
        const {response, bytes} = await this.#exchange(
            new URL(path, service), ANSWER, {method, headers, body});
        return {
            status: response.status, retryAfter: response.headers.get("Retry-After"),
            text: new TextDecoder().decode(bytes),
        };
    }

    // ---- Requests -------------------------------------------------------------------------------

    /** Reads one byte more than the limit at most. */
    async #exchange(url, limit, options, signal) {
        const ending = new AbortController(), end = () => ending.abort();
        signal?.addEventListener("abort", end);
        let timer = setTimeout(end, SILENCE);
        try {
            const response = await fetch(url, {...PLAIN, ...options, signal: ending.signal});
            const chunks = [], reader = response.body?.getReader();
            let count = 0;
            while (reader && count <= limit) {
                const {done, value} = await reader.read();
                if (done) break;
                clearTimeout(timer);
                timer = setTimeout(end, SILENCE);
                chunks.push(value);
                count += value.length;
            }
            if (count > limit) end();
            const bytes = new Uint8Array(Math.min(count, limit + 1));
            let at = 0;
            for (const chunk of chunks) {
                const part = chunk.subarray(0, bytes.length - at);
                bytes.set(part, at);
                at += part.length;
            }
            return {response, bytes};
        } catch {
            throw new Unreachable("unreachable");
        } finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
        }
    }

    /** Waits for the time of the next request. @param due when the check was to begin whose first
     *     it is */
    async #turn(signal, due) {
        const now = performance.now(), isFirst = due !== undefined;
        const start = isFirst ? Math.max(due, this.#last) : this.#first;
        const step = isFirst ? FIRST_STEP : STEP;
        const time = start + step * (Math.floor(Math.max(0, now - start) / step) + 1);
        if (isFirst) this.#first = time;
        this.#last = time;
        await sleep(time - now + JITTER * random(), signal);
    }

    /** A file of the feed, at its time. */
    async #file(path, limit, signal, due) {
        await this.#turn(signal, due);
        if (signal?.aborted) throw new Unreachable("cancelled");
        const {response, bytes} = await this.#exchange(
            new URL(path, this.#feed), limit, {method: "GET"}, signal);
        if (response.status !== 200) throw new Unreachable(`status ${response.status}`);
        return {bytes, date: Date.parse(response.headers.get("Date")) / 1000};
    }

    // ---- The check ------------------------------------------------------------------------------

    /** One check of the feed (FEED.md, section 9). */
    async #check(hint, due, signal) {
        // Read beside the requests: their times must not show how many secrets there are.
        const reading = Promise.resolve().then(() => this.#secrets())
            .then(list => [...list]).catch(() => null);
        const policy = await this.#policy;
        const head = await this.#file("head", HEAD_FILE, signal, due);
        let record = await this.#read();
        const feed = this.#feedOf(record, policy);
        const keys = feed.needsKeys(head.bytes)
            ? await this.#file("keys", KEYS, signal).catch(error => {
                // Without the file, a head of a known key is read all the same.
                if (error.code.startsWith("status")) return null;
                throw error;
            }) : null;
        const now = seconds();
        let warnings;
        try {
            warnings = await feed.readHead(head.bytes, {keys: keys?.bytes ?? null, now});
        } catch (error) {
            if (error.code === "fork") await this.#commit(record, feed, []);
            throw error;
        }
        // In force by the server's clock: this device's is ahead.
        const stale = warnings.indexOf("stale");
        if (stale >= 0 && Number(feed.head.expires) >= head.date - 600) {
            warnings.splice(stale, 1, "clockSkew");
        }
        record = await this.#commit(record, feed, [], {verified: now});
        const list = await reading;
        const secrets = list?.filter(each => each?.bytes instanceof Uint8Array
            && each.bytes.length >= 16 && each.bytes.length <= 1024) ?? null;
        if (!secrets) warnings.push("secretsUnreadable");
        if (secrets && secrets.length < list.length) warnings.push("unusableSecrets");
        const end = await this.#batches(record, feed, secrets, signal);
        end.warnings = warnings;
        const days = (now - (record.health.checked ?? record.health.first)) / 86_400;
        if (feed.unchecked().length > 0 && days >= SILENT_DAYS) end.warnings.push("notChecked");
        if (feed.isRetired && !end.failure) {
            await this.unregister();
            end.outcome = "retired";
        } else if (hint > Number(feed.head.sequence) && !end.failure) {
            const {cacheSeconds, spreadSeconds} = feed.state.settings;
            Object.assign(end, {outcome: "behind", again: cacheSeconds + random() * spreadSeconds});
        }
        return end;
    }

    /** All batches that were not checked, match or not: new ones first, then those that were
     * missing before. One that does not come keeps no other waiting. */
    async #batches(record, feed, secrets, signal) {
        const cursor = BigInt(feed.state.sequence), numbers = feed.unchecked();
        const missing = numbers.filter(number => number <= cursor);
        // Should some of them fail in a row, others come first another time.
        const start = missing.length >= PATIENCE ? Math.floor(random() * missing.length) : 0;
        const plan = [
            ...numbers.filter(number => number > cursor), ...missing.slice(start),
            ...missing.slice(0, start),
        ];
        const end = this.#end("upToDate", {failure: secrets ? null : "secrets"});
        let inRow = 0;
        for (const number of plan) {
            if (inRow === PATIENCE) break;
            try {
                const {bytes} = await this.#file(feed.path(number), BATCH, signal);
                const list = secrets ?? [];
                const found = await feed.readBatch(number, bytes, list.map(each => each.bytes));
                if (secrets) {
                    record = await this.#commit(record, feed, found.map(({id, secret, note}) => ({
                        id, secretID: list[secret].id, note: note && hex(note),
                        sequence: Number(number), claimed: 0,
                    })));
                }
                end.batches += 1;
                inRow = 0;
            } catch (error) {
                if (error.code === "fork") await this.#commit(record, feed, []);
                if (error.code === "fork" || error.code === "cancelled" || !error.code) throw error;
                end.failure ??= error.code;
                inRow += 1;
            }
        }
        if (end.batches > 0) end.outcome = "checked";
        if (end.failure) end.outcome = "failed";
        return end;
    }

    /**
     * Stores the feed's state and what was found, in one transaction.
     *
     * @param base the record that the state was made from: if another page has stored another one
     *     meanwhile, that one stands, with all that it found
     */
    async #commit(base, feed, matches, {verified} = {}) {
        let stored = null;
        await this.#change(record => {
            if (record.revision !== base.revision) return;
            record.revision += 1;
            record.feed = feed.state;
            const known = new Set([...record.delivered, ...record.matches.map(({id}) => id)]);
            for (const match of matches) {
                if (!known.has(match.id)) record.matches.push(match);
                known.add(match.id);
            }
            const {health} = record, now = seconds();
            health.first ??= now;
            if (verified) health.verified = verified;
            if (feed.unchecked().length === 0 && !feed.state.isForked) health.checked = now;
            stored = structuredClone(record);
        });
        if (!stored) throw new Unreachable("shared");
        return stored;
    }

    /** After all requests: nothing on the line depends on a match. */
    async #deliver(isAlone) {
        const taken = [];
        await this.#change(record => {
            const now = seconds();
            for (const match of record.matches) {
                if (!isAlone && Math.abs(now - match.claimed) < CLAIM) continue;
                match.claimed = now;
                taken.push({...match});
            }
        });
        let count = 0;
        for (const {id, secretID, note: digits, sequence} of taken) {
            try {
                const note = digits === null ? null : unhex(digits);
                await this.#onMatch({id, secretID, note, sequence});
            } catch {
                // It comes again in the next cycle.
                await this.#change(record => {
                    const match = record.matches.find(each => each.id === id);
                    if (match) match.claimed = 0;
                });
                continue;
            }
            count += 1;
            // Only the id is kept: note and name are erased.
            await this.#change(record => {
                record.matches = record.matches.filter(match => match.id !== id);
                record.delivered = [...record.delivered, id].slice(-DELIVERED);
            });
        }
        return count;
    }

    // ---- The event stream -----------------------------------------------------------------------

    /** Keeps the anonymous stream open until the signal is aborted: again with growing pauses. */
    async #listen(signal, onEvent) {
        let failures = 0;
        while (!signal?.aborted) {
            const start = performance.now();
            const {hasEvent, retry, retryAfter} = await this.#connect(signal, onEvent);
            const lasted = performance.now() - start;
            failures = hasEvent && lasted >= 60_000 ? 1 : failures + 1;
            const backoff = Math.min(5000 * 2 ** (failures - 1), 1_800_000) * random();
            const floor = Math.max(1000, Math.min(1000 * retryAfter, 21_600_000));
            await sleep(Math.min(retry, 3_600_000) + Math.max(floor, backoff), signal);
        }
        this.#stream.state = "unused";
    }

    async #connect(signal, onEvent) {
        const result = {hasEvent: false, retry: 0, retryAfter: 0}, start = performance.now();
        const ending = new AbortController(), end = () => ending.abort();
        signal?.addEventListener("abort", end);
        let timer = setTimeout(end, FIRST_EVENT);
        this.#stream = {state: "connecting", status: null};
        try {
            const response = await fetch(
                new URL("v1/wakes", this.#service),
                {...PLAIN, headers: {Accept: "text/event-stream"}, signal: ending.signal});
            result.retryAfter = Number(response.headers.get("Retry-After")) || 0;
            const type = response.headers.get("Content-Type") ?? "";
            if (response.status !== 200 || !type.startsWith("text/event-stream")) {
                end();
                this.#stream = {state: "refused", status: response.status};
                return result;
            }
            const reader = response.body.getReader(), decoder = new TextDecoder();
            let text = "";
            for (;;) {
                const {done, value} = await reader.read();
                if (done) break;
                const lines = (text + decoder.decode(value, {stream: true})).split(/\r\n|\r|\n/);
                text = lines.pop().slice(-1024);
                for (const line of lines) {
                    const [, name, number] = /^(data|retry): ?([0-9]{1,15})$/.exec(line) ?? [];
                    if (name === "retry") result.retry = Number(number);
                    if (name === "data") {
                        result.hasEvent = true;
                        this.#stream = {state: "connected", status: 200};
                        onEvent(Number(number));
                    }
                }
                // A comment comes every 240 s at least.
                if (result.hasEvent) {
                    clearTimeout(timer);
                    timer = setTimeout(end, STREAM_SILENCE);
                }
            }
        } catch {
            // Cut, refused or silent: what was missed is in the feed.
        } finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
        }
        if (this.#stream.state !== "refused") {
            const isSilent = !result.hasEvent && performance.now() - start >= FIRST_EVENT;
            this.#stream = {state: isSilent ? "silent" : "waiting", status: null};
        }
        return result;
    }
}
