// Between the reader and the page: applies events in the time of a frame, draws once a frame, and holds the reader back
// when too much waits.

const MAX_WAITING = 512 * 1024; // characters of event data
const FRAME_BUDGET = 10; // ms for applying; the rest of a frame is for drawing

export class Pump {
  #apply;
  #draw;
  #queue = [];
  #next = 0;
  #waiting = 0;
  #resume = [];
  #scheduled = false;
  #channel = new MessageChannel();

  constructor(apply, draw) {
    this.#apply = apply;
    this.#draw = draw;
    this.#channel.port1.onmessage = () => this.#frame();
    // A hidden page gets no frames. Its run goes on without.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && this.#scheduled) this.#channel.port2.postMessage(0);
    });
  }

  /** Queues events. The promise resolves when more may be read. */
  put(events) {
    for (const event of events) {
      this.#queue.push(event);
      this.#waiting += event.data.length;
    }
    this.redraw();
    if (this.#waiting <= MAX_WAITING) return undefined;
    return new Promise((resolve) => this.#resume.push(resolve));
  }

  /** Draws at the next frame. */
  redraw() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (document.hidden) this.#channel.port2.postMessage(0);
    else requestAnimationFrame(() => this.#frame());
  }

  /** Applies all that waits, now: the page is about to go. */
  flush() {
    this.#applyUntil(Infinity);
  }

  /** Forgets what waits. */
  clear() {
    this.#queue = [];
    this.#next = 0;
    this.#waiting = 0;
    this.#release();
  }

  #applyUntil(deadline) {
    while (this.#next < this.#queue.length) {
      const event = this.#queue[this.#next];
      this.#queue[this.#next] = undefined;
      this.#next += 1;
      this.#waiting -= event.data.length;
      this.#apply(event);
      if (performance.now() > deadline) break;
    }
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
  }

  #frame() {
    if (!this.#scheduled) return;
    this.#scheduled = false;
    this.#applyUntil(performance.now() + FRAME_BUDGET);
    this.#draw();
    if (this.#next < this.#queue.length) this.redraw();
    if (this.#waiting <= MAX_WAITING) this.#release();
  }

  #release() {
    const resume = this.#resume;
    this.#resume = [];
    for (const resolve of resume) resolve();
  }
}
