import type { Metadata, StreamPart, TextEnd, TextStart } from "./ai-types.js";
import type { Engine, RawEvent } from "./engine.js";
import { Session } from "./session.js";
import type { RejectedCall, ToolCall, Tools } from "./types.js";

/** How the texts of a response are read. */
export interface Reading {
  engine: Engine;
  tools: Tools;
  names: ReadonlySet<string>;
  /** For a parser of the text. */
  options: { callFormat?: string; lineBytes?: number; depth?: number };
  isGrowing: boolean;
  /** A JSON object that looks like a call of no known tool is text, unless a syntax's markers are around it. */
  keepsUnknown: boolean;
  onRejectedCall: ((call: RejectedCall) => void) | undefined;
  generateId: () => string;
}

/** How a text has ended: on its own, where the response was cut off, or with an error. */
export type Ending = "complete" | "cut" | "failed";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Nine letters and digits: the form that Mistral's templates demand, and all others accept. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** What the texts of one response have in common. */
export class Turn {
  readonly reading: Reading;
  /** The calls in its texts. */
  calls = 0;
  readonly #ids: Set<string>;

  constructor(reading: Reading, ids: Set<string>) {
    this.reading = reading;
    this.#ids = ids;
  }

  /** Takes note of an id that is in use. */
  take(id: string): string {
    this.#ids.add(id);
    return id;
  }

  /** The model's id if it is unique; ids have to be, across all messages. */
  id(own: string | undefined): string {
    if (own && !this.#ids.has(own)) return this.take(own);
    for (let tries = 0; ; tries++) {
      const id = this.reading.generateId();
      // One who makes the same id again and again gets a number.
      const unique = tries < 8 ? id : `${id}-${tries}`;
      if (!this.#ids.has(unique)) return this.take(unique);
    }
  }
}

/** A call that is being written. */
interface OpenCall {
  name: string;
  /** The model's own id. */
  own: string | undefined;
  /** Its id, once it has been shown. */
  id: string | undefined;
  /** The JSON text of its input so far. */
  input: string;
  /** Its input was begun anew: what was shown of it is not what it is. */
  isReplaced: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The input in the record of a call. */
function inputOf(record: string): string | undefined {
  try {
    const { parameters, arguments: given } = JSON.parse(record) as { parameters?: unknown; arguments?: unknown };
    const input = parameters ?? given;
    return typeof input === "object" && input !== null ? JSON.stringify(input) : undefined;
  } catch {
    return undefined;
  }
}

/** A text block of a response: its deltas in, parts with calls out. */
export class TextBlock {
  readonly #turn: Turn;
  readonly #session: Session;
  readonly #id: string;
  readonly #start: TextStart | undefined;
  readonly #out: (part: StreamPart) => void;
  /** The id of the open part of the block, and whether it is text or reasoning. */
  #part: { id: string; type: "text" | "reasoning" } | undefined;
  #texts = 0;
  #reasonings = 0;
  /** White space that is text only if text follows. */
  #space = "";
  /** Metadata that no delta has taken along. */
  #metadata: Metadata | undefined;
  #call: OpenCall | undefined;
  /** A call that was shown and turned out to be another, or none. */
  #discarded: OpenCall | undefined;
  /** What was pushed and is in no event yet; what is before it, in bytes. */
  #tail = "";
  #before = 0;
  /** The last event was taken for a call, and is text: so is white space around it. */
  #isAfterPlain = false;
  #ending: Ending = "complete";
  /** Whether it has calls or reasoning, not only text. */
  isSplit = false;

  constructor(turn: Turn, id: string, start: TextStart | undefined, out: (part: StreamPart) => void, inReasoning: boolean) {
    const { engine, tools, options } = turn.reading;
    this.#turn = turn;
    this.#id = id;
    this.#start = start;
    this.#out = out;
    this.#session = new Session(
      engine,
      { ...options, tools, inReasoning, textAs: "tool_calls", callUpdates: true, showValues: true, diagnostics: 0 },
      { emit: "events", isResponseText: true, hasText: true },
    );
  }

  /** Reads a delta of the text. */
  push(delta: string, metadata?: Metadata): void {
    if (metadata) this.#metadata = metadata;
    if (this.#turn.reading.keepsUnknown) this.#tail += delta;
    this.#session.push(delta);
    this.#take();
    if (this.#metadata && this.#part?.type === "text") this.#delta("");
  }

  /** Ends the text. */
  end(ending: Ending, end: TextEnd | undefined): void {
    this.#ending = ending;
    this.#session.finish(ending !== "complete");
    this.#take();
    this.#session.free();
    if (this.#isAfterPlain && this.#tail.trim() === "") this.#text(this.#tail);
    const isEmpty = !this.isSplit && this.#texts === 0;
    if ((isEmpty && end) || this.#metadata || (isEmpty && this.#space !== "")) {
      // A text without content, or with white space alone, stays what it is.
      this.#open("text");
      if (this.#space !== "" || this.#metadata) this.#delta(this.#space);
    }
    if (this.#part?.type === "text" && end && !this.isSplit) {
      this.#out({ ...end, id: this.#part.id });
      this.#part = undefined;
    } else if (this.#part?.type === "text" && end?.citations) {
      this.#out({ type: "text-end", id: this.#part.id, citations: end.citations });
      this.#part = undefined;
    }
    this.#close();
  }

  #take(): void {
    const ready = this.#session.judged(false) as RawEvent[];
    for (const event of ready) this.#event(event);
    // A call that begins anew does so at once.
    if (this.#discarded) this.#drop();
  }

  #event(event: RawEvent): void {
    if (this.#discarded && !(event.type === "tool_call_began" && event["name"] === this.#discarded.name)) this.#drop();
    switch (event.type) {
      case "text": {
        const text = event["text"] as string;
        this.#text(this.#account(text) + text);
        break;
      }
      case "reasoning":
        this.#account(event["text"] as string);
        this.#open("reasoning");
        this.#out({ type: "reasoning-delta", id: this.#part!.id, delta: event["text"] as string });
        break;
      case "tool_call_began":
        this.#began(event["name"] as string, event["id"] as string | undefined);
        break;
      case "tool_call_arguments":
        this.#more(event["text"] as string);
        break;
      case "tool_call_discarded":
        if (this.#call?.id !== undefined) this.#discarded = this.#call;
        this.#call = undefined;
        break;
      case "tool_call":
        this.#complete(event as unknown as ToolCall);
        break;
      case "rejected_call":
        this.#rejected(event as unknown as RejectedCall);
        break;
      // Rejects are text, and there are no records: every object is a call or text.
    }
  }

  #text(text: string): void {
    if (this.#part?.type !== "text") {
      text = this.#space + text;
      this.#space = "";
      if (text.trim() === "") {
        this.#space = text;
        return;
      }
      this.#open("text");
    }
    this.#delta(text);
  }

  #delta(delta: string): void {
    const metadata = this.#metadata && { providerMetadata: this.#metadata };
    this.#metadata = undefined;
    this.#out({ type: "text-delta", id: this.#part!.id, delta, ...metadata });
  }

  #open(type: "text" | "reasoning"): void {
    if (this.#part?.type === type) return;
    this.#close();
    if (type === "text") {
      const isFirst = this.#texts++ === 0;
      const id = isFirst ? this.#id : `${this.#id}:${this.#texts}`;
      this.#part = { id, type };
      this.#out(isFirst && this.#start ? this.#start : { type: "text-start", id });
    } else {
      this.isSplit = true;
      const id = `${this.#id}:reasoning-${++this.#reasonings}`;
      this.#part = { id, type };
      this.#out({ type: "reasoning-start", id });
    }
  }

  #close(): void {
    if (this.#part) this.#out({ type: `${this.#part.type}-end`, id: this.#part.id });
    this.#part = undefined;
  }

  #began(name: string, own: string | undefined): void {
    const replaced = this.#discarded;
    this.#discarded = undefined;
    this.#call = { name, own, id: replaced?.id, input: "", isReplaced: replaced !== undefined };
  }

  #more(text: string): void {
    const call = this.#call;
    if (!call) return;
    call.input += text;
    if (call.id !== undefined) {
      if (!call.isReplaced) this.#out({ type: "tool-input-delta", id: call.id, delta: text });
      return;
    }
    const { isGrowing, names } = this.#turn.reading;
    // What has a name, and no argument, may still turn out to be text.
    if (isGrowing && call.input !== "{" && names.has(call.name)) this.#show(call);
  }

  /** Begins to show a call, with its input so far. */
  #show(call: OpenCall): void {
    this.#split();
    call.id = this.#turn.id(call.own);
    this.#out({ type: "tool-input-start", id: call.id, toolName: call.name });
    this.#out({ type: "tool-input-delta", id: call.id, delta: call.input });
  }

  #split(): void {
    this.#close();
    this.#space = "";
    this.isSplit = true;
  }

  #complete(event: ToolCall): void {
    const call = this.#ended(event);
    // The whole text of the input: numbers keep their digits.
    const input = call.input === "" ? JSON.stringify(event.parameters) : call.input;
    if (event.error !== undefined) {
      // The model itself says that the call is wrong.
      this.#refuse(call, call.input, { code: "invalid_parameters", message: JSON.stringify(event.error) });
      return;
    }
    call.own ??= event.id;
    call.input = input;
    if (call.id === undefined) this.#show(call);
    this.#deliver(call, input);
  }

  #rejected(event: RejectedCall): void {
    const { code, message, received = "" } = event;
    if (code === "unknown_tool" && this.#call?.id === undefined && this.#isPlain(event)) {
      this.#call = undefined;
      this.#text(this.#account(received, true) + received);
      this.#isAfterPlain = true;
      return;
    }
    const call = this.#ended(event);
    if (call.name === "") {
      this.#text(received);
      return;
    }
    this.#turn.reading.onRejectedCall?.(event);
    call.own ??= event.id;
    if (this.#ending === "failed") {
      // It is nobody's fault: the response did not arrive.
      this.#end(call);
      return;
    }
    // A complete call, about which the SDK says what is wrong, or finds that nothing is.
    const input = code === "invalid_parameters" || code === "unknown_tool" ? this.#whole(call, received) : undefined;
    if (input !== undefined) this.#deliver(call, input);
    else this.#refuse(call, received, { code, message });
  }

  #whole(call: OpenCall, received: string): string | undefined {
    return isObject(call.input) ? call.input : inputOf(received);
  }

  /** Delivers a call that cannot be run, as its input is not JSON: the SDK reports it to the model. */
  #refuse(call: OpenCall, received: string, { code, message }: { code: string; message: string }): void {
    const input = `${received.trim()} // ${code}: ${message.replaceAll('"', "'")}`;
    if (isObject(input)) this.#end(call);
    else this.#deliver(call, input);
  }

  #deliver(call: OpenCall, input: string): void {
    const { id: shown, input: before } = call;
    if (shown !== undefined && !call.isReplaced && input.length > before.length && input.startsWith(before)) {
      this.#out({ type: "tool-input-delta", id: shown, delta: input.slice(before.length) });
    }
    this.#end(call);
    this.#split();
    this.#turn.calls++;
    const toolCallId = call.id ?? this.#turn.id(call.own);
    this.#out({ type: "tool-call", toolCallId, toolName: call.name, input });
  }

  /** Ends what was shown of a call. */
  #end(call: OpenCall): void {
    if (call.id !== undefined) this.#out({ type: "tool-input-end", id: call.id });
  }

  /** What was shown turned out to be no call. There is no way to take it back: it is never complete. */
  #drop(): void {
    this.#end(this.#discarded!);
    this.#discarded = undefined;
  }

  /** The call that an event ends. */
  #ended(event: ToolCall | RejectedCall): OpenCall {
    const { name = "", id, end } = event;
    const call = this.#call ?? { name, own: id, id: undefined, input: "", isReplaced: false };
    this.#call = undefined;
    this.#isAfterPlain = false;
    if (end !== undefined) this.#skip(end);
    return call;
  }

  /** Takes note of a text that was pushed and is in an event now. Returns white space before it that is text too. */
  #account(text: string, isPlain = this.#isAfterPlain): string {
    this.#isAfterPlain = false;
    const at = this.#tail.startsWith(text) ? 0 : this.#tail.indexOf(text);
    if (at < 0 || this.#tail === "") return "";
    const space = this.#tail.slice(0, at);
    const end = at + text.length;
    this.#before += encoder.encode(this.#tail.slice(0, end)).length;
    this.#tail = this.#tail.slice(end);
    return isPlain && space.trim() === "" ? space : "";
  }

  /** Whether what was rejected is an object without markers: directly after the last event, but for white space. */
  #isPlain({ received = "" }: RejectedCall): boolean {
    if (!this.#turn.reading.keepsUnknown) return false;
    return received.startsWith("{") && this.#tail.trimStart().startsWith(received);
  }

  #skip(end: number): void {
    const length = end - this.#before;
    if (length <= 0 || this.#tail === "") return;
    const bytes = encoder.encode(this.#tail);
    this.#tail = decoder.decode(bytes.subarray(length));
    this.#before += Math.min(length, bytes.length);
  }
}
