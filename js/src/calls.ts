import type { Engine, Machine, RawEvent, Sink } from "./engine.js";
import { Growing } from "./growing.js";

/** A call that is still being written. */
export interface OpenCall {
  name: string;
  /** Its number in the choice. */
  number: number;
  choice: number;
  id?: string;
  /** Its arguments so far. What is complete in them keeps its identity. */
  parameters: { [name: string]: unknown };
}

/** The arguments of an open call, which are a text of their own. */
class Arguments implements Sink {
  readonly call: Omit<OpenCall, "parameters">;
  readonly #machine: Machine;
  readonly #bigints: boolean;
  #growing: Growing | undefined;

  constructor(engine: Engine, call: Omit<OpenCall, "parameters">, bigints: boolean) {
    this.call = call;
    this.#bigints = bigints;
    this.#machine = engine.machine({ emit: "events", partials: true, bigints });
  }

  push(text: string): void {
    this.#machine.push(text, this);
  }

  get parameters(): { [name: string]: unknown } {
    return (this.#growing?.snapshot() ?? {}) as { [name: string]: unknown };
  }

  begin(): Growing {
    this.#growing = new Growing({ inPlace: false, bigints: this.#bigints });
    return this.#growing;
  }

  gone(): void {
    this.#growing = undefined;
  }

  event(): void {}

  values(): void {}

  count(): void {}

  free(): void {
    this.#machine.free();
  }
}

/** The calls that are still being written, in the order in which they began. */
export class OpenCalls {
  readonly #engine: Engine;
  readonly #bigints: boolean;
  readonly #open = new Map<string, Arguments>();

  constructor(engine: Engine, bigints: boolean) {
    this.#engine = engine;
    this.#bigints = bigints;
  }

  /** Takes note of an event. */
  add(event: RawEvent): void {
    const { type, number, choice } = event as { type: string; number?: number; choice?: number };
    if (number === undefined || choice === undefined) return;
    const key = `${choice} ${number}`;
    switch (type) {
      case "tool_call_began": {
        const { name, id } = event as unknown as OpenCall;
        const call = { name, number, choice, ...(id !== undefined && { id }) };
        this.#open.set(key, new Arguments(this.#engine, call, this.#bigints));
        break;
      }
      case "tool_call_arguments":
        this.#open.get(key)?.push(event["text"] as string);
        break;
      default:
        this.#open.get(key)?.free();
        this.#open.delete(key);
    }
  }

  list(): OpenCall[] {
    return [...this.#open.values()].map((open) => ({ ...open.call, parameters: open.parameters }));
  }

  clear(): void {
    for (const open of this.#open.values()) open.free();
    this.#open.clear();
  }
}
