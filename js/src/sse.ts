import { TokenlineError } from "./errors.js";
import type { Reject } from "./types.js";

/** Whether the body of a response is server-sent events. */
export function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers?.get("content-type") ?? "");
}

type Members = { readonly [member: string]: unknown };

/** The object in a text, if it is one. */
function parsed(json: string): Members {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null) return value as Members;
  } catch {
    // It is other text.
  }
  return {};
}

/** A diagnostic with the names that its members have in JavaScript. */
function renamed({ instance_path, schema_path, attempts: _attempts, ...fault }: Members): Members {
  return {
    ...fault,
    ...(instance_path !== undefined && { instancePath: instance_path }),
    ...(schema_path !== undefined && { schemaPath: schema_path }),
    ...(Array.isArray(fault["further"]) && { further: (fault["further"] as Members[]).map(renamed) }),
  };
}

/**
 * The records in server-sent events, a line each. The events are those of the Rust crate `tokenline-axum`:
 *
 * | event | data |
 * |---|---|
 * | `record`, or no name | a record |
 * | `rejected` | the diagnostic of a reject |
 * | `done` | the end; with `"truncated":true` it is an error |
 * | `error` | an error, with its `message` |
 *
 * Others are ignored. After events with the name `record`, a stream without `done` is incomplete, which is an error.
 */
export class EventLines implements AsyncIterableIterator<string> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #onReject: (reject: Reject) => void;
  readonly #decoder = new TextDecoder();
  /** The line that has not ended. */
  #rest = "";
  #isAfterCr = false;
  #name = "";
  #data: string[] = [];
  /** The records that are ready. */
  #lines = "";
  #failure: unknown;
  #expectsDone = false;
  #isEnded = false;

  constructor(body: ReadableStream<Uint8Array>, onReject: (reject: Reject) => void) {
    this.#reader = body.getReader();
    this.#onReject = onReject;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    while (this.#lines === "" && !this.#isEnded) {
      const { done, value } = await this.#reader.read();
      if (!done) this.#read(this.#decoder.decode(value, { stream: true }));
      else this.#end(this.#expectsDone ? ["stream_incomplete", "the response ended without `done`"] : undefined);
    }
    const value = this.#lines;
    this.#lines = "";
    if (value !== "") return { done: false, value };
    if (this.#failure !== undefined) throw this.#failure;
    return { done: true, value: undefined };
  }

  /** Cancels the response. */
  async return(): Promise<IteratorResult<string, undefined>> {
    this.#isEnded = true;
    await this.#reader.cancel();
    return { done: true, value: undefined };
  }

  #read(text: string): void {
    if (text === "") return;
    // The second half of a CRLF.
    if (this.#isAfterCr && text.startsWith("\n")) text = text.slice(1);
    this.#isAfterCr = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    // A long line comes in many chunks: it is searched once.
    lines[0] = this.#rest + lines[0]!;
    this.#rest = lines.pop()!;
    for (const line of lines) {
      if (this.#isEnded) return;
      if (line === "") this.#dispatch();
      else this.#field(line);
    }
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#name = value;
  }

  #dispatch(): void {
    const [name, data, isEmpty] = [this.#name, this.#data.join(" "), this.#data.length === 0];
    this.#name = "";
    this.#data = [];
    if (isEmpty) return;
    switch (name) {
      case "record":
        this.#expectsDone = true;
        this.#lines += `${data}\n`;
        break;
      case "":
      case "message":
        if (data === "[DONE]") this.#end();
        else this.#lines += `${data}\n`;
        break;
      case "rejected":
        this.#onReject({ ...renamed(parsed(data)), type: "reject" } as Reject);
        break;
      case "done":
        this.#end(parsed(data)["truncated"] === true ? ["truncated", "the response was cut off"] : undefined);
        break;
      case "error":
        this.#end(["response_failed", String(parsed(data)["message"] ?? data)]);
    }
  }

  #end(failure?: [code: string, message: string]): void {
    this.#isEnded = true;
    if (failure) this.#failure = new TokenlineError(...failure);
    this.#reader.cancel().catch(() => undefined);
  }
}
