type Container = unknown[] | Record<string, unknown>;

/** A container that is open. */
interface Open {
  value: Container;
  isArray: boolean;
  /** Its name or index in the container around it. */
  key: string | number;
  /** The members or elements put into it. */
  size: number;
  /** The snapshot since which it is a copy of its own. */
  since: number;
}

function put(container: Container, key: string | number, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (container as Record<string | number, unknown>)[key] = value;
  }
}

/** A step in the path to a value: a name or an index. */
export type Path = readonly (string | number)[];

/** Settings of a value that grows. */
export interface GrowingOptions {
  /** Whether it is one object that changes, instead of snapshots that do not. */
  inPlace: boolean;
  /** Whether integers that a number cannot hold are bigints. */
  bigints: boolean;
}

/** Called for each value that is complete, innermost first. */
export type OnComplete = (value: unknown, path: Path) => void;

/** Returns the object that it is given, so that the private fields of a class that extends it are added to that object. */
const Given = class {
  constructor(container: object) {
    return container;
  }
} as new (container: object) => object;

/**
 * Marks of containers, which nobody else sees. A private field takes a twentieth of the time of a `WeakMap`; that is for
 * containers which cannot be extended, because someone has frozen the snapshot.
 */
function marks<T>() {
  const ofFrozen = new WeakMap<object, T>();
  return class Mark extends Given {
    #mark: T;

    constructor(container: object, mark: T) {
      super(container);
      this.#mark = mark;
    }

    static of(container: object): T | undefined {
      return #mark in container ? container.#mark : ofFrozen.get(container);
    }

    static set(container: object, mark: T): void {
      if (#mark in container) container.#mark = mark;
      else if (Object.isExtensible(container)) new Mark(container, mark);
      else ofFrozen.set(container, mark);
    }
  };
}

/** Marks the containers of snapshots that are complete. Others grow, or have grown since. */
const Complete = marks<true>();
/** Marks others with the key of the last string in them that is complete. */
const CompleteText = marks<string | number>();

/** Says that a value which did not grow is complete. */
export function settle(value: unknown): void {
  if (typeof value !== "object" || value === null || Complete.of(value)) return;
  Complete.set(value, true);
  Object.values(value).forEach(settle);
}

/** Whether a container of any snapshot, or what it has at `key`, is complete. */
export function isSettled(container: object, key?: string | number): boolean {
  if (Complete.of(container)) return true;
  if (key === undefined || !Object.hasOwn(container, key)) return false;
  const part = (container as { [key: string | number]: unknown })[key];
  if (typeof part === "object" && part !== null) return Complete.of(part) !== undefined;
  if (typeof part !== "string" || Object.keys(container).at(-1) !== String(key)) return true;
  return String(CompleteText.of(container)) === String(key);
}

/**
 * A JSON value that grows by steps. What {@link snapshot} has handed out never changes: the containers that are still
 * open are copied once before the next change, those that are complete never.
 */
export class Growing {
  readonly #options: GrowingOptions;
  #root: unknown;
  readonly #open: Open[] = [];
  /** The open string. */
  #text: string | undefined;
  #textKey: string | number = "";
  /** Whether more of the open string has come than is in its container. */
  #isTextAhead = false;
  /** Whether the last of the innermost open container is a string that is complete. */
  #hasTextLast = false;
  #snapshots = 0;
  #isWhole = false;
  onComplete: OnComplete | undefined;
  /** The members and elements that were copied for snapshots. */
  copied = 0;

  constructor(options: GrowingOptions) {
    this.#options = options;
  }

  /** Whether the next value is a member of an object. */
  get isInObject(): boolean {
    const open = this.#open;
    return open.length > 0 && !open[open.length - 1]!.isArray;
  }

  /** Whether the value is complete. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  openObject(name: string): void {
    this.#enter({}, false, name);
  }

  openArray(name: string): void {
    this.#enter([], true, name);
  }

  #enter(value: Container, isArray: boolean, name: string): void {
    const key = this.#place(name, value);
    this.#open.push({ value, isArray, key, size: 0, since: this.#snapshots });
  }

  openText(name: string): void {
    this.#textKey = this.#place(name, "");
    this.#text = "";
  }

  append(text: string): void {
    this.#text += text;
    this.#isTextAhead = true;
  }

  setNumber(name: string, text: string): void {
    const number = Number(text);
    const isExact = !this.#options.bigints || Number.isSafeInteger(number) || !/^-?\d+$/.test(text);
    this.set(name, isExact ? number : BigInt(text));
  }

  set(name: string, value: unknown): void {
    const key = this.#place(name, value);
    if (this.#open.length === 0) this.#isWhole = true;
    this.onComplete?.(value, this.#path(key));
  }

  /** The innermost open value is complete. */
  close(): void {
    let value: unknown;
    let key: string | number;
    if (this.#text !== undefined) {
      this.#catchUp();
      value = this.#text;
      key = this.#textKey;
      this.#text = undefined;
      this.#hasTextLast = true;
    } else {
      const open = this.#open.pop()!;
      ({ value, key } = open);
      if (!this.#options.inPlace) Complete.set(open.value, true);
      this.#hasTextLast = false;
    }
    if (this.#open.length === 0) this.#isWhole = true;
    this.onComplete?.(value, this.#path(key));
  }

  #path(key: string | number): Path {
    if (this.#open.length === 0) return [];
    return [...this.#open.slice(1).map((open) => open.key), key];
  }

  /** Puts the next value into the innermost open container, and returns its key. */
  #place(name: string, value: unknown): string | number {
    if (this.#open.length === 0) {
      this.#root = value;
      return "";
    }
    const around = this.#own();
    around.size++;
    this.#hasTextLast = false;
    if (around.isArray) return (around.value as unknown[]).push(value) - 1;
    put(around.value, name, value);
    return name;
  }

  /** The innermost open container, which no snapshot has. */
  #own(): Open {
    const open = this.#open;
    const now = this.#snapshots;
    let first = open.length;
    if (open[first - 1]!.since === now) return open[first - 1]!;
    while (first > 0 && open[first - 1]!.since !== now) first--;
    for (let index = first; index < open.length; index++) {
      const its = open[index]!;
      its.value = its.isArray ? (its.value as unknown[]).slice() : { ...(its.value as Record<string, unknown>) };
      its.since = now;
      this.copied += its.size;
      if (index === 0) this.#root = its.value;
      else put(open[index - 1]!.value, its.key, its.value);
    }
    return open[open.length - 1]!;
  }

  /** Puts what has come of the open string into its container. */
  #catchUp(): void {
    if (!this.#isTextAhead) return;
    this.#isTextAhead = false;
    if (this.#open.length === 0) this.#root = this.#text;
    else put(this.#own().value, this.#textKey, this.#text);
  }

  /** The value so far. */
  snapshot(): unknown {
    this.#catchUp();
    if (this.#options.inPlace) return this.#root;
    this.#snapshots++;
    const open = this.#open.at(-1);
    if (this.#hasTextLast && open) CompleteText.set(open.value, this.#textKey);
    return this.#root;
  }

  /**
   * Whether this container, or the value of this key in it, is complete. Those of a snapshot stay what they were in it.
   */
  isComplete(container: object, key?: string | number): boolean {
    const at = this.#open.findIndex((open) => open.value === container);
    if (at < 0) return this.#options.inPlace || isSettled(container, key);
    if (key === undefined || !Object.hasOwn(container, key)) return false;
    const inner = this.#open[at + 1];
    if (inner) return String(inner.key) !== String(key);
    return this.#text === undefined || String(this.#textKey) !== String(key);
  }
}
