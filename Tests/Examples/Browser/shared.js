// The client of page and worker, the secrets, and what was found: each in a record of IndexedDB.
import {IndexedDBStore, WakeClient} from "./reveille/reveille.mjs";
import {config} from "./config.js";

const [kept, found] = [new IndexedDBStore("secrets"), new IndexedDBStore("matches")];

async function read(store, empty) {
    let record = null;
    await store.transact(stored => void (record = stored));
    return record ?? empty;
}

export const secrets = () => read(kept, []);
export const add = (id, bytes) => kept.transact(list => [...(list ?? []), {id, bytes}]);
export const matches = async () => Object.values(await read(found, {}));

const text = note => note === null ? "" : new TextDecoder().decode(note);

/** Each match is remembered under its id before it is shown: one that comes again, after the
 * browser was ended between the two, is the same one. */
export const client = onMatch => new WakeClient({...config, secrets, onMatch: async match => {
    const shown = {id: match.id, secretID: match.secretID, note: text(match.note)};
    await found.transact(all => ({...all, [match.id]: shown}));
    await onMatch(shown);
}});
