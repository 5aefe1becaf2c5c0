// What this browser keeps for the page: a database of its own, in which several tabs may write at the same time.

const NAME = "tokenline";
const VERSION = 1;

/** The result of a request or the end of a transaction of IndexedDB. */
export function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.oncomplete = () => resolve();
    request.onerror = () => reject(request.error);
    request.onabort = () => reject(request.error ?? new DOMException("The transaction was aborted.", "AbortError"));
  });
}

let database = null; // a promise of it

async function open() {
  const request = indexedDB.open(NAME, VERSION);
  request.onupgradeneeded = () => {
    // A run's summary is apart from its records: the list of runs is read without them.
    request.result.createObjectStore("runs", { keyPath: "id" });
    request.result.createObjectStore("bodies", { keyPath: "id" });
    request.result.createObjectStore("prompts", { keyPath: "name" });
  };
  const opened = await done(request);
  const forget = () => (database = null);
  opened.onclose = forget;
  // The user deletes the site's data, or another tab has a newer page.
  opened.onversionchange = () => {
    opened.close();
    forget();
  };
  return opened;
}

/**
 * Runs `work(store, ...)`, which may wait for nothing but requests of the stores, in one transaction: all or nothing.
 * Fails if the browser does not let the page store anything, or has no room.
 */
export async function transaction(names, mode, work) {
  let running;
  try {
    database ??= open();
    running = (await database).transaction(names, mode);
    const ended = done(running);
    const [result] = await Promise.all([working(running, names, work), ended]);
    return result;
  } catch (error) {
    if (!running) database = null;
    throw running?.error ?? error;
  }
}

// A failure that is not one of a request would let the rest be stored.
async function working(running, names, work) {
  try {
    return await work(...names.map((name) => running.objectStore(name)));
  } catch (error) {
    try {
      running.abort();
    } catch {
      // A failed request did it.
    }
    throw error;
  }
}

/** Tells the other tabs that something changed, and hears it from them. */
export class Changes {
  #channel = "BroadcastChannel" in window ? new BroadcastChannel("tokenline") : null;

  constructor(changed) {
    if (this.#channel) this.#channel.onmessage = ({ data }) => changed(data);
    // Settings of another tab may arrive later than its message.
    addEventListener("storage", ({ key }) => {
      if (key?.startsWith("tokenline-")) changed("settings");
    });
  }

  tell(what) {
    this.#channel?.postMessage(what);
  }
}

/** A setting of this browser; null if it has none, or storage is blocked. */
export function setting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function setSetting(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

/** Why nothing is kept, for people. */
export function problemOf(error) {
  if (error?.name === "QuotaExceededError") return "The storage of this browser is full.";
  return "This browser does not let the page store anything.";
}
