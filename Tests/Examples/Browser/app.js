// The page: it polls and listens while it is open, and registers for pushes when its user says so.
import {fromBase64URL} from "./reveille/reveille.mjs";
import {add, client, matches} from "./shared.js";

const show = (name, text) => (document.getElementById(name).textContent = text);
const wake = client(() => refresh());

async function refresh() {
    const items = (await matches()).map(({secretID, note}) => {
        const item = document.createElement("li");
        item.textContent = note === "" ? secretID : `${secretID}: ${note}`;
        return item;
    });
    document.getElementById("matches").replaceChildren(...items);
    show("status", JSON.stringify(await wake.status(), null, 1));
    show("diagnostics", await wake.diagnostics());
}

const on = (name, does) => document.getElementById(name).addEventListener("click", async event => {
    event.target.disabled = true;
    await does().then(() => show("error", ""), error => show("error", `${name}: ${error.message}`));
    event.target.disabled = false;
    await refresh();
});

on("register", async () => {
    if (await Notification.requestPermission() !== "granted") throw new Error("not allowed");
    const worker = await navigator.serviceWorker.ready;
    await wake.subscribe(worker);
    // Where there is periodic background sync; browsers decide whether and when.
    await worker.periodicSync?.register("feed", {minInterval: 4 * 3600 * 1000}).catch(() => {});
    await wake.cycle();
});
on("unregister", async () => {
    await wake.unregister();
    const worker = await navigator.serviceWorker.ready;
    await (await worker.pushManager.getSubscription())?.unsubscribe();
    await wake.cycle();
});
on("add", async () => {
    // Of your app: what the publisher derives digests of, as `feed publish --secrets` reads it.
    const field = document.getElementById("secret"), bytes = fromBase64URL(field.value.trim());
    if (!bytes || bytes.length < 16) throw new Error("16 bytes or more, in base64url");
    await add("visit", bytes);
    field.value = "";
});
on("check", () => wake.cycle());

await navigator.serviceWorker.register("worker.js", {type: "module"});
// Without it a browser may clear everything when disk space is short.
await navigator.storage?.persist?.();
document.addEventListener("visibilitychange", refresh);
await refresh();
await wake.run({onCycle: refresh});
