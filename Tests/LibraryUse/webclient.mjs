/**
 * Drives Sources/reveille-js for the tests, in Node.
 *
 *     read DIRECTORY        says of each feed of Vectors/peer.py what a client without a past says,
 *                           into a file "mjs" beside its "result"
 *     pasts DIRECTORY       the same of each history, with the state kept from step to step
 *     machine               a command a line on standard input, an answer a line on standard output
 *     cycle FEED KEY SERVICE FILE SHOWN SECRET...
 *                           one cycle of an app that is killed at any moment: its state is FILE,
 *                           and it shows a match by a file in SHOWN. SERVICE is - for none; the last
 *                           words are secrets, `endpoint=URL` to register, `push` or `unregister`
 *     together FEED KEY SECRET...
 *                           three pages without locks at once, on one state: each match they show
 *     run FEED KEY SERVICE SECRET...
 *                           an open page: each match that it shows, until the first one came
 *     signatures            says of `KEY MESSAGE SIGNATURE` on each line whether it is good
 *     speed KEY BATCH HEAD  milliseconds for a batch, for a hash of a mebibyte, and for a proof
 *
 * With `plain` in the environment REVEILLE_ED25519 signatures are verified without WebCrypto's;
 * with a number in REVEILLE_KILL the process is killed before that change of its state.
 */
import {closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, readdirSync,
    renameSync, writeFileSync, writeSync} from "node:fs";
import {createInterface} from "node:readline";
import {webcrypto} from "node:crypto";
import {join} from "node:path";

globalThis.crypto ??= webcrypto;
if (process.env.REVEILLE_ED25519 === "plain") {
    const importKey = webcrypto.subtle.importKey;
    webcrypto.subtle.importKey = function (format, key, algorithm, ...more) {
        return algorithm.name === "Ed25519" ? Promise.reject(new Error("not supported"))
            : importKey.call(this, format, key, algorithm, ...more);
    };
}
const folder = new URL("../../Sources/reveille-js/", import.meta.url);
const {Feed, MemoryStore, Refused, Registration, WakeClient, WitnessPolicy, solve} =
    await import(new URL("reveille.mjs", folder));
const {big, blake2b, fromBase64URL, hex, unhex, verifies} = await import(new URL("crypto.mjs", folder));

const bytes = path => existsSync(path) ? new Uint8Array(readFileSync(path)) : new Uint8Array(0);
const lines = path => existsSync(path)
    ? readFileSync(path, "utf8").split("\n").filter(line => line !== "") : [];
const noteText = note => note === null ? "-" : hex(note);
const folders = path => readdirSync(path, {withFileTypes: true})
    .filter(entry => entry.isDirectory() && entry.name !== "b")
    .map(entry => join(path, entry.name));

// ---- Feeds --------------------------------------------------------------------------------------

async function read(folder) {
    const file = name => bytes(join(folder, name));
    const secrets = lines(join(folder, "secrets")).map(unhex), result = ["ok"];
    try {
        let feed = new Feed(file("key"));
        const keys = feed.needsKeys(file("head")) ? file("keys") : null;
        await feed.readHead(file("head"), {keys, now: 1_800_000_000});
        for (const number of feed.unchecked()) {
            // A kill between any two batches changes nothing.
            feed = new Feed(file("key"), {state: JSON.parse(JSON.stringify(feed.state))});
            for (const {id, secret, note} of
                await feed.readBatch(number, file(feed.path(number)), secrets)) {
                result.push(`${number} ${secret} ${id} ${noteText(note)}`);
            }
        }
    } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return error.code;
    }
    return result.join("\n");
}

async function past(folder, common) {
    const secrets = lines(join(folder, "secrets")).map(unhex), said = [];
    const text = join(folder, "policy");
    const policy = existsSync(text) ? await WitnessPolicy.read(bytes(text)) : null;
    let key = bytes(join(folder, "key")), state = null;
    for (let number = 0; existsSync(join(folder, String(number))); number++) {
        const step = join(folder, String(number));
        if (existsSync(join(step, "key"))) key = bytes(join(step, "key"));
        let feed = new Feed(key, {state, policy});
        const restart = () => {
            state = JSON.parse(JSON.stringify(feed.state));
            feed = new Feed(key, {state, policy});
        };
        const head = bytes(join(step, "head"));
        const now = Number(readFileSync(join(step, "now"), "utf8"));
        try {
            const keys = feed.needsKeys(head) ? bytes(join(step, "keys")) : null;
            said.push(["head", ...await feed.readHead(head, {keys, now})].join(" "));
        } catch (error) {
            if (!(error instanceof Refused)) throw error;
            said.push(`refused ${error.code}`);
            restart();
            continue;
        }
        const withheld = new Set(lines(join(step, "withheld")));
        for (const batch of feed.unchecked()) {
            restart();
            const path = feed.path(batch), name = path.slice(2);
            const own = join(step, path), file = existsSync(own) ? own : join(common, name);
            if (withheld.has(name) || !existsSync(file)) {
                said.push(`${batch} absent`);
                continue;
            }
            try {
                const matches = await feed.readBatch(batch, bytes(file), secrets);
                said.push(`${batch} ok`, ...matches.map(({id, secret, note}) =>
                    `${batch} match ${secret} ${id} ${noteText(note)}`));
            } catch (error) {
                if (!(error instanceof Refused)) throw error;
                said.push(`${batch} ${error.code}`);
                if (error.code === "fork") break;
            }
        }
        said.push(["unchecked", ...feed.unchecked()].join(" "));
        restart();
    }
    return said.join("\n");
}

// ---- Registration -------------------------------------------------------------------------------

async function machine() {
    let registration = new Registration(), step = null, now = 0;
    const copy = () => new Registration(JSON.parse(JSON.stringify(registration.state)));
    for await (const line of createInterface({input: process.stdin})) {
        const [command, ...words] = line.split(" ");
        const answer = await ({
            new: () => void (registration = new Registration()),
            kill: () => void (registration = copy()),
            save: () => hex(new TextEncoder().encode(JSON.stringify(registration.state))),
            restore: () => void (registration =
                new Registration(JSON.parse(new TextDecoder().decode(unhex(words[0]))))),
            now: () => void (now = Number(words[0])),
            register: () => registration.register(
                words[0] === "fcm" ? {service: "fcm", token: words[1]}
                    : {endpoint: words[1], expirationTime: null,
                        keys: words[2] && {p256dh: words[2], auth: words[3]}}, now),
            erase: () => registration.erase(now),
            next: () => {
                step = registration.next(now);
                const {method, authorization, body} = step.request ?? {};
                return step.kind === "send"
                    ? `send ${method} ${authorization} `
                        + (body ? hex(new TextEncoder().encode(body)) : "-")
                    : step.kind === "wait" ? `wait ${step.time}` : step.kind;
            },
            received: () => registration.received(
                Number(words[0]), step.request, words[1] === "-" ? null : words[1],
                new TextDecoder().decode(unhex(words[2].slice(1))), now),
            failed: () => registration.failed(now),
            solve: async () => {
                const {proof} = await solve(step.challenge, () => words[0] === "true");
                registration.add(proof, step.challenge);
                return proof ?? "-";
            },
            registered: () => registration.isRegistered,
            refused: () => registration.state.isRefused,
        }[command])();
        console.log(answer ?? "");
    }
}

// ---- An app -------------------------------------------------------------------------------------

/** A record in a file: a kill leaves the former one or the next. */
class FileStore extends MemoryStore {
    /** Changes until the process is killed, before the last of them. */
    left = Number(process.env.REVEILLE_KILL ?? Infinity);

    constructor(path) {
        super();
        this.path = path;
    }

    async transact(change) {
        const stored = existsSync(this.path) ? JSON.parse(readFileSync(this.path, "utf8")) : null;
        const next = change(stored);
        if (next === undefined) return;
        if (--this.left === 0) process.kill(process.pid, "SIGKILL");
        const file = openSync(this.path + ".new", "w", 0o600);
        writeSync(file, JSON.stringify(next));
        fsyncSync(file);
        closeSync(file);
        renameSync(this.path + ".new", this.path);
    }
}

async function cycle([feed, feedKey, service, file, shown, ...words]) {
    mkdirSync(shown, {recursive: true});
    const secrets = words.filter(word => /^[0-9a-f]+$/.test(word))
        .map((word, index) => ({id: `secret ${index}`, bytes: unhex(word)}));
    const client = new WakeClient({
        feed, feedKey, service: service === "-" ? undefined : service, secrets: () => secrets,
        store: new FileStore(file), policy: process.env.REVEILLE_POLICY,
        // As a notification with a tag: shown again, it is the same one.
        onMatch: ({id, secretID, note}) => {
            const text = note === null ? "-" : new TextDecoder().decode(note);
            writeFileSync(join(shown, id), `${secretID} ${text}\n`, {flag: "a"});
        },
    });
    console.log("began");
    for (const word of words) {
        if (word.startsWith("endpoint=")) await client.register({endpoint: word.slice(9)});
        if (word === "unregister") await client.unregister();
    }
    const early = await client.testPush().catch(({code}) => code);
    const end = await client.cycle();
    if (words.includes("push")) {
        console.log("pushed", early, await client.testPush(), await client.testPush());
    }
    console.log(`ended ${end.outcome} ${end.failure ?? "-"} ${end.delivered} ${end.warnings}`);
    console.log(JSON.stringify(await client.status()));
    console.log(await client.diagnostics());
}

function page(store, [feed, feedKey, service, ...words], onMatch) {
    const secrets = words.map((word, index) => ({id: `secret ${index}`, bytes: unhex(word)}));
    return new WakeClient({feed, feedKey, service, secrets: () => secrets, store, onMatch});
}

async function together([feed, feedKey, ...secrets]) {
    const store = new MemoryStore();
    store.exclusively = () => false;
    const pages = [1, 2, 3].map(() => page(
        store, [feed, feedKey, undefined, ...secrets], ({secretID}) => console.log(secretID)));
    for (let i = 0; i < 2; i++) await Promise.all(pages.map(page => page.cycle()));
}

async function run(words) {
    const ending = new AbortController();
    const client = page(new MemoryStore(), words, ({secretID}) => {
        console.log("shown", secretID);
        ending.abort();
    });
    await client.run({signal: ending.signal, onCycle: async ({outcome}) =>
        console.log(outcome, (await client.status()).stream)});
    console.log((await client.status()).stream);
}

// ---- Words --------------------------------------------------------------------------------------

const [word, ...more] = process.argv.slice(2);
const each = async (path, say) => {
    for (const folder of folders(path)) writeFileSync(join(folder, "mjs"), await say(folder));
};
await ({
    read: () => each(more[0], read),
    pasts: () => each(more[0], folder => past(folder, join(more[0], "b"))),
    machine,
    cycle: () => cycle(more),
    together: () => together(more),
    run: () => run(more),
    signatures: async () => {
        for await (const line of createInterface({input: process.stdin})) {
            const [key, message, signature] = line.split(" ").map(unhex);
            console.log(await verifies(key, message, signature));
        }
    },
    speed: async () => {
        const key = fromBase64URL(more[0]), file = bytes(more[1]), head = bytes(more[2]);
        for (let i = 0; i < 3; i++) {
            const feed = new Feed(key);
            await feed.readHead(head);
            const start = performance.now(), number = big(file, 24, 8);
            await feed.readBatch(number, file, [new Uint8Array(32)]);
            console.log("batch", file.length, (performance.now() - start).toFixed(1));
        }
        const start = performance.now();
        blake2b(32, new Uint8Array(1 << 20));
        console.log("hash of 1 MiB", (performance.now() - start).toFixed(1));
        const token = "00".repeat(32), challenge = {text: "A".repeat(32), bits: 18, token};
        const searched = performance.now(), {nonce} = await solve(challenge);
        console.log("hashes", nonce, (performance.now() - searched).toFixed(1));
    },
}[word])();
