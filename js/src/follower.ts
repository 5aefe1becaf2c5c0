import type { RawEvent } from "./engine.js";
import { type Growing, type OnComplete, isSettled, settle } from "./growing.js";
import type { Session } from "./session.js";
import type { Record as RecordEvent, Reject } from "./types.js";

/**
 * Where a value that grows stands: nothing of it has come, it grows, it is complete with evidence, or it is rejected. One
 * that was cut off is rejected too, and stays as far as it has come.
 */
export type LiveState = "waiting" | "growing" | "complete" | "rejected";

/** The element of the list that an event is about. */
const ELEMENT = Symbol("element");
/** That of an event which was noted as it came. */
const NOTED = {};

type Marked = RawEvent & { [ELEMENT]?: object };
type Part = Parameters<OnComplete>;

/** Follows the value, or the list of values, that grows in a session. */
export class Follower {
  readonly #session: Session;
  readonly #isList: boolean;
  readonly #inPlace: boolean;
  readonly #onComplete: OnComplete | undefined;
  #value: unknown;
  #list: unknown[] = [];
  /** One for each element of the list. */
  readonly #elements: object[] = [];
  /** Whether a snapshot has the list. */
  #isListShown = false;
  #growing: Growing | undefined;
  /**
   * The complete records that the schema has not judged, each with what of it was not told; the first that it accepts is
   * the value.
   */
  #unjudged: Part[][] = [];
  /** What grows meanwhile: the value if the schema accepts none of them. */
  #next: { growing: Growing; untold: Part[] } | undefined;
  /** The value that was given up last. */
  #discarded: Growing | undefined;
  #copied = 0;
  state: LiveState = "waiting";
  /** The last complete record. */
  record: RecordEvent | undefined;
  /** The elements of the list that are complete records; others may follow. */
  accepted = 0;
  /** Why the value is rejected. */
  reject: Reject | undefined;

  constructor(session: Session, isList: boolean, inPlace: boolean, onComplete: OnComplete | undefined) {
    this.#session = session;
    this.#isList = isList;
    this.#inPlace = inPlace;
    this.#onComplete = onComplete;
    session.began = (growing) => this.#began(growing);
    session.completed = (event) => this.#completed(event);
    session.discarded = () => this.#gaveUp();
    session.rejected = (event) => this.#rejected(event);
  }

  #began(growing: Growing): void {
    if (this.#growing) this.#gaveUp();
    if (this.#isList) {
      this.#follow(growing);
      this.#push(undefined);
    } else if (this.#unjudged.length > 0) {
      const untold: Part[] = [];
      if (this.#onComplete) growing.onComplete = (...part) => untold.push(part);
      this.#next = { growing, untold };
    } else if (!this.#isFinal) {
      this.#value = this.reject = undefined;
      this.#follow(growing);
    }
  }

  /**
   * Whether the value is final: the first record stays the value, and one that was cut off, although what is inside it may
   * be read as records.
   */
  get #isFinal(): boolean {
    if (this.state === "complete") return true;
    return this.state === "rejected" && this.reject?.code === "truncated" && this.#session.machine.isFinished;
  }

  #follow(growing: Growing): void {
    this.#growing = growing;
    this.#discarded = undefined;
    this.state = "growing";
    if (this.#onComplete) {
      growing.onComplete = (value, path) => {
        this.#tell(value, this.#isList ? [this.#elements.length - 1, ...path] : path);
      };
    }
  }

  #tell(...part: Part): void {
    try {
      this.#onComplete!(...part);
    } catch (error) {
      this.#session.failure ??= { error };
    }
  }

  #completed(event: Marked): void {
    const growing = this.#growing;
    this.#growing = undefined;
    if (growing) this.#copied += growing.copied;
    if (this.#isList) {
      event[ELEMENT] = this.#elements.at(-1)!;
      this.#own()[this.#elements.length - 1] = event["value"];
    } else if (growing || this.#next) {
      event[ELEMENT] = this;
      this.#unjudged.push(this.#next?.untold ?? []);
      this.#next = undefined;
      if (growing) this.#value = event["value"];
    }
  }

  #gaveUp(): void {
    this.#next = undefined;
    if (!this.#growing) return;
    this.#discarded = this.#growing;
    this.#copied += this.#growing.copied;
    this.#growing = undefined;
    if (this.#isList) this.#remove(this.#elements.length - 1);
    this.state = this.#isList && this.record ? "complete" : "waiting";
  }

  #push(value: unknown): void {
    this.#own().push(value);
    this.#elements.push({});
  }

  #remove(at: number): void {
    this.#own().splice(at, 1);
    this.#elements.splice(at, 1);
  }

  /** The list, which no snapshot has. */
  #own(): unknown[] {
    if (this.#isListShown && !this.#inPlace) {
      this.#list = this.#list.slice();
      this.#copied += this.#list.length;
      this.#isListShown = false;
    }
    return this.#list;
  }

  /** Takes note of an event, once it is judged. */
  add(event: Marked): void {
    const element = event[ELEMENT];
    delete event[ELEMENT];
    // Those of other choices do not grow.
    if (element === NOTED || (event["choice"] ?? 0) !== 0) return;
    if (event.type === "record") this.#accepted(event as unknown as RecordEvent, element);
    else if (event.type === "reject") this.#refused(event as unknown as Reject, element);
  }

  #accepted(record: RecordEvent, element: object | undefined): void {
    if (this.#isList) {
      this.accepted++;
      const at = element ? this.#elements.lastIndexOf(element) : -1;
      if (at < 0) {
        // It did not grow.
        const end = this.#elements.length - (this.#growing ? 1 : 0);
        this.#own().splice(end, 0, record.value);
        this.#elements.splice(end, 0, {});
      } else if (this.#list[at] !== record.value) {
        // A schema has made another value of it.
        this.#own()[at] = record.value;
      }
    } else {
      if (this.#isFinal) return;
      if (!element && this.#onComplete) this.#tell(record.value, []);
      this.#value = record.value;
      this.#growing = this.#next = this.reject = undefined;
      this.#unjudged = [];
    }
    if (!this.#inPlace) settle(record.value);
    this.record = record;
    if (!this.#growing) this.state = "complete";
  }

  #refused(reject: Reject, element: object | undefined): void {
    if (this.#isList) {
      if (element) this.#remove(this.#elements.lastIndexOf(element));
      this.reject = reject;
      return;
    }
    if (this.#isFinal) return;
    this.reject = reject;
    this.state = "rejected";
    this.#value = undefined;
    if (element) this.#unjudged.shift();
    const next = this.#next;
    const untold = this.#unjudged[0] ?? next?.untold ?? [];
    if (next && this.#unjudged.length === 0) {
      this.#next = this.reject = undefined;
      this.#follow(next.growing);
    }
    for (const part of untold) this.#tell(...part);
  }

  #rejected(event: Marked): void {
    event[ELEMENT] = NOTED;
    if (event.type !== "reject" || (event["choice"] ?? 0) !== 0) return;
    const reject = event as unknown as Reject;
    if (this.#isList) this.reject = reject;
    // Also if it came in one chunk, and did not grow.
    else if (this.state === "waiting" && this.#unjudged.length === 0) {
      this.reject = reject;
      this.state = "rejected";
      this.#value = reject.code === "truncated" ? this.#discarded?.snapshot() : undefined;
    }
  }

  /** The record in which the text ended, of which a list has nothing. */
  get cutOff(): unknown {
    return this.reject?.code === "truncated" ? this.#discarded?.snapshot() : undefined;
  }

  /** The members and elements copied for snapshots. */
  get copied(): number {
    return this.#copied + (this.#growing?.copied ?? 0);
  }

  /** The value so far. */
  snapshot(): unknown {
    const growing = this.#growing;
    if (!this.#isList) return growing ? growing.snapshot() : this.#value;
    if (growing) {
      const last = growing.snapshot();
      const at = this.#elements.length - 1;
      if (this.#list[at] !== last) this.#own()[at] = last;
    }
    this.#isListShown = true;
    return this.#list;
  }

  isComplete(container: object, key?: string | number): boolean {
    // Such as a member that has not come.
    if (typeof container !== "object" || container === null) return false;
    if (this.#isList && container === this.#list) {
      if (key === undefined) return this.#session.machine.isFinished;
      const element = this.#list[key as number];
      return typeof element === "object" && element !== null && this.isComplete(element);
    }
    const growing = this.#growing ?? this.#discarded;
    return growing?.isComplete(container, key) ?? (this.#inPlace || isSettled(container, key));
  }
}
