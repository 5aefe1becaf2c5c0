// One run: starts it, reads its events, resumes it when the connection breaks, stops it.

import { SseDecoder } from "./sse.js";

// The server waits ten seconds for a reader. The last try begins after 6.2 seconds.
const RETRY_DELAYS = [200, 400, 800, 1600, 3200];
const STOP_TIMEOUT = 3000;

/**
 * `take(events)` takes the events of one chunk; nothing more is read until its promise resolves, so a page that stalls
 * stalls the server. `changed(status, message)` hears "resuming", "running", "failed", "lost" and "stopped"; everything
 * else arrives as events.
 */
export class Run {
  #take;
  #changed;
  #abort = new AbortController();
  #ended = false;
  #stopping = false;
  id = null;
  lastId = 0;

  constructor(take, changed) {
    this.#take = take;
    this.#changed = changed;
  }

  /** Starts a run. It is never requested twice. */
  async start(body) {
    let response;
    try {
      response = await fetch("/api/extract", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: this.#abort.signal,
      });
    } catch (error) {
      return this.#end("failed", `The server cannot be reached: ${error.message}`);
    }
    if (!response.ok) return this.#end("failed", await errorMessage(response));
    await this.#follow(response);
  }

  /** Goes on after event `lastId` of a run, as after a reload. */
  async resume(id, lastId) {
    this.id = id;
    this.lastId = lastId;
    const response = await this.#reconnect([0, ...RETRY_DELAYS]);
    if (response) await this.#follow(response);
  }

  /** Asks the server to stop. The run ends with its `done`, or here if that does not come. */
  stop() {
    if (this.#ended || this.#stopping) return;
    this.#stopping = true;
    if (this.id) this.#delete();
    setTimeout(() => this.#end("stopped"), STOP_TIMEOUT);
  }

  /** Reads no more, and leaves the run on the server as it is. */
  leave() {
    this.#ended = true;
    this.#abort.abort();
  }

  #delete() {
    fetch(`/api/runs/${encodeURIComponent(this.id)}`, { method: "DELETE" }).catch(() => {});
  }

  #end(status, message) {
    if (this.#ended) return;
    this.leave();
    this.#changed(status, message);
  }

  async #follow(response) {
    while (response && !this.#ended) {
      try {
        await this.#read(response.body.getReader());
      } catch {
        // As an end without `done`: resume.
      }
      if (this.#ended) return;
      if (!this.id) return this.#end("failed", "The connection broke before the run began.");
      this.#changed("resuming", "The connection broke. Resuming.");
      response = await this.#reconnect(RETRY_DELAYS);
    }
  }

  async #read(reader) {
    const decoder = new SseDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = decoder.push(value);
      for (const { id, event, data } of events) {
        if (id > this.lastId) this.lastId = id;
        if (event === "start") {
          this.id = JSON.parse(data).run;
          if (this.#stopping) this.#delete();
        }
        if (event === "done") this.#ended = true;
      }
      if (events.length > 0) await this.#take(events);
    }
  }

  async #reconnect(delays) {
    for (const delay of delays) {
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      if (this.#ended) return null;
      try {
        const response = await fetch(`/api/runs/${encodeURIComponent(this.id)}/events`, {
          headers: { "last-event-id": String(this.lastId) },
          signal: this.#abort.signal,
        });
        if (response.ok) {
          this.#changed("running");
          return response;
        }
        if (response.status < 500) {
          this.#end("lost", "The server no longer has this run. Everything received so far is kept.");
          return null;
        }
      } catch {
        // The next try.
      }
    }
    this.#end("lost", "The connection broke and could not be resumed. Everything received so far is kept.");
    return null;
  }
}

async function errorMessage(response) {
  try {
    const { error } = await response.json();
    if (typeof error === "string") return error;
  } catch {
    // Not ours, then.
  }
  return `The server responded with status ${response.status}.`;
}
