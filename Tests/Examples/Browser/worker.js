// The service worker: a push, or a turn of periodic background sync, checks the feed.
import {client} from "./shared.js";

// The tag is the match's own: shown twice, it is one notification.
const wake = client(({id, secretID, note}) => self.registration.showNotification(
    "This concerns you: " + secretID, {tag: id, body: note}));

/** Every push must show something, or the browser does, and ends the subscription. */
async function pushed() {
    const {delivered} = await wake.cycle().catch(() => ({delivered: 0}));
    if (delivered === 0) {
        await self.registration.showNotification(
            "Looked: nothing for you", {tag: "looked", silent: true});
    }
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));
self.addEventListener("push", event => event.waitUntil(pushed()));
self.addEventListener("periodicsync", event => event.waitUntil(wake.cycle()));
self.addEventListener("pushsubscriptionchange", event => event.waitUntil(
    wake.subscribe(self.registration).then(() => wake.cycle())));
