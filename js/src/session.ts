import type { Engine, Machine, RawEvent, Sink } from "./engine.js";
import { TokenlineError, invalidOption } from "./errors.js";
import { Growing, type GrowingOptions } from "./growing.js";
import { Report } from "./report.js";
import { type CheckedTools, checked, checkedTools, faults, isStandard } from "./schemas.js";
import { describe } from "./source.js";
import type { StandardSchemaV1 } from "./standard-schema.js";
import type { Reject, RejectedCall, ResponseOptions, StreamOptions } from "./types.js";

/** The options of all functions, by what they belong to. */
const TEXT = ["mode", "release", "inReasoning", "bigints", "lineBytes", "depth", "diagnostics"];
const WIRE = ["provider", "sseLineBytes", "sseEventBytes"];
export const RECORDS = [...TEXT, ...WIRE, "schema", "items"];
export const CALLS = [...TEXT, ...WIRE, "tools", "callFormat", "showValues"];
export const RESPONSES = [...new Set([...RECORDS, ...CALLS]), "textAs", "callUpdates"];
export const LIVE = [...RECORDS, "list", "inPlace", "onComplete"];
export const STREAM = ["signal", "onReject", "strict"];

/** The settings that the module reads as they are given. */
const PASSED_ON = new Set([
  "mode",
  "release",
  "inReasoning",
  "bigints",
  "lineBytes",
  "depth",
  "sseLineBytes",
  "sseEventBytes",
  "items",
  "provider",
  "callFormat",
  "showValues",
  "textAs",
  "callUpdates",
]);

const NUMBERS = new Set(["lineBytes", "depth", "sseLineBytes", "sseEventBytes", "diagnostics"]);
const FLAGS = new Set(["inReasoning", "bigints", "showValues", "callUpdates", "strict", "list", "inPlace"]);
const TEXTS = new Set(["mode", "release", "items", "provider", "callFormat", "textAs"]);
const FUNCTIONS = new Set(["onReject", "onComplete"]);

/** What an option must be, if the value is something else. */
function expected(option: string, value: unknown): string | undefined {
  if (NUMBERS.has(option)) return Number.isInteger(value) && (value as number) >= 0 ? undefined : "a whole number";
  if (FLAGS.has(option)) return typeof value === "boolean" ? undefined : "a boolean";
  if (TEXTS.has(option)) return typeof value === "string" ? undefined : "a string";
  if (FUNCTIONS.has(option)) return typeof value === "function" ? undefined : "a function";
  if (option !== "signal") return undefined;
  return typeof (value as AbortSignal | null)?.addEventListener === "function" ? undefined : "an AbortSignal";
}

/** A value as a message shows it. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return (typeof value === "object" && value !== null) || typeof value === "function" ? describe(value) : String(value);
}

type Given = ResponseOptions & StreamOptions;

/** Refuses options that are unknown or of the wrong type. */
export function checkOptions(name: string, options: object, allowed: readonly string[]): void {
  if (typeof options !== "object" || options === null || isStandard(options)) {
    const isSchema = isStandard(options) && allowed.includes("schema");
    const message = isSchema ? "a schema is an option: `{ schema }`" : `must be an object, not ${shown(options)}`;
    throw invalidOption(`the options of ${name}: ${message}`);
  }
  for (const [option, value] of Object.entries(options)) {
    if (!allowed.includes(option)) {
      throw invalidOption(`${name} has no option \`${option}\`; there are ${[...allowed].sort().join(", ")}`);
    }
    if (value === undefined) continue;
    const wanted = expected(option, value);
    if (wanted) throw invalidOption(`\`${option}\` must be ${wanted}, not ${shown(value)}`);
  }
}

/** JSON has no bigints. */
const shownBigint = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

/** The error that a schema threw. */
class Thrown {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** What a session is to do beside the user's options. */
export interface Task {
  /** What becomes of a record. */
  emit: "events" | "values" | "counts";
  /** How a text is read. */
  reads?: "records" | "tool_calls" | "records_and_tool_calls";
  /** How the open record is shown. */
  growing?: GrowingOptions & { list: boolean };
  /** The source is the text of a response, whose calls are shown as they grow. */
  isResponseText?: boolean;
  /** Text and reasoning are events. */
  hasText?: boolean;
}

/** A parser with its rules and its counts. What it delivers is in {@link ready}. */
export class Session implements Sink {
  readonly machine: Machine;
  readonly report: Report;
  /** What is ready to be delivered: events, or values alone. */
  ready: unknown[] = [];
  /** The error that follows what is ready. */
  failure: { error: unknown } | undefined;
  readonly emit: Task["emit"];
  /** Whether the text is in a provider's response, which says when it ends. */
  readonly hasProvider: boolean;
  readonly #isStrict: boolean;
  readonly #showsValues: boolean;
  readonly #onReject: StreamOptions["onReject"];
  readonly #standard: StandardSchemaV1 | undefined;
  readonly #tools: CheckedTools | undefined;
  readonly #reads: Task["reads"];
  readonly #growing: Task["growing"];
  /** The value that grows; for a list, its last element. */
  open: Growing | undefined;

  constructor(engine: Engine, options: Given, task: Task) {
    if (options.provider !== undefined && !engine.hasProviders) {
      throw invalidOption("`provider` needs the entry point `tokenline/providers`");
    }
    if (task.reads === "tool_calls" && !engine.hasCalls) {
      throw invalidOption("tool calls need the entry point `tokenline`");
    }
    const { compiled, standard } = checked(engine, options.schema);
    const tools = checkedTools(engine, options.tools);
    const settings: { [setting: string]: unknown } = {
      emit: task.emit,
      schema: compiled,
      tools: tools?.compiled,
      toolNames: tools?.names,
      reads: task.reads,
      partials: task.growing !== undefined,
      // A document of one value may be an array.
      wholeValues: task.growing !== undefined && !task.growing.list && options.items === undefined,
      text: task.hasText,
      kind: task.isResponseText ? "response" : undefined,
    };
    for (const [option, value] of Object.entries(options)) {
      if (PASSED_ON.has(option)) settings[option] = value;
    }
    this.machine = engine.machine(settings);
    this.report = new Report(options.diagnostics);
    this.emit = task.emit;
    this.hasProvider = options.provider !== undefined;
    this.#isStrict = options.strict ?? false;
    this.#showsValues = options.showValues ?? false;
    this.#onReject = options.onReject;
    this.#standard = standard;
    this.#tools = tools;
    this.#reads = task.reads;
    this.#growing = task.growing;
  }

  /** Whether values are judged outside the module, which may take time. */
  get judges(): boolean {
    return this.#standard !== undefined || (this.#tools?.standard.size ?? 0) > 0;
  }

  push(chunk: string | Uint8Array): void {
    this.machine.push(chunk, this);
  }

  finish(hasFailed: boolean): void {
    this.machine.finish(hasFailed, this);
    if (!this.machine.isFreed) this.report.complete = !hasFailed && this.machine.isComplete;
  }

  event(event: RawEvent): void {
    if (this.failure) return;
    if (event.type === "record" && !("value" in event) && this.open) {
      // The value that has grown.
      event["value"] = this.open.snapshot();
      this.open = undefined;
      this.completed?.(event);
    }
    if (event.type === "reject" || event.type === "rejected_call") this.rejected?.(event);
    this.found(event);
  }

  /** Takes an event in its place: it is delivered once the records and calls before it are judged. */
  found(event: RawEvent): void {
    if (this.judges) this.ready.push(event);
    else this.deliver(event);
  }

  /** Counts an event, and adds it to what is ready. */
  deliver(event: RawEvent): void {
    this.report.add(event);
    if (event.type === "reject" || event.type === "rejected_call") {
      const reject = event as unknown as Reject | RejectedCall;
      try {
        this.#onReject?.(reject);
      } catch (error) {
        this.failure = { error };
        return;
      }
      if (this.#isStrict) {
        const message = `${reject.line}:${reject.column}: ${reject.message}`;
        this.failure = { error: new TokenlineError(reject.code, message, { reject }) };
        return;
      }
    }
    if (this.emit === "events") this.ready.push(event);
  }

  values(values: unknown[]): void {
    if (this.failure) return;
    this.report.records += values.length;
    if (this.ready.length === 0) this.ready = values;
    else for (const value of values) this.ready.push(value);
  }

  count(records: number): void {
    if (this.#reads === "tool_calls") this.report.toolCalls += records;
    else this.report.records += records;
  }

  begin(): Growing {
    this.open = new Growing(this.#growing!);
    this.began?.(this.open);
    return this.open;
  }

  /** Called when a value begins to grow. */
  began?: (growing: Growing) => void;
  /** Called when the value that grows is a complete record. */
  completed?: (event: RawEvent) => void;
  /** Called when the value that grows is none. */
  discarded?: () => void;
  /** Called for a reject, before the schema's verdicts on what is ready. */
  rejected?: (event: RawEvent) => void;

  gone(): void {
    this.open = undefined;
    this.discarded?.();
  }

  /**
   * Asks the Standard Schemas about what is ready, and returns what is left. A schema may answer later; `isAsync` says
   * whether the caller can wait.
   */
  judged(isAsync: false): unknown[];
  judged(isAsync: true): unknown[] | Promise<unknown[]>;
  judged(isAsync: boolean): unknown[] | Promise<unknown[]> {
    const ready = this.ready;
    if (ready.length === 0) return ready;
    this.ready = [];
    if (!this.judges) return ready;
    const verdicts = ready.map((event) => {
      try {
        const verdict = this.#verdict(event as RawEvent);
        return verdict instanceof Promise ? verdict.catch((error) => new Thrown(error)) : verdict;
      } catch (error) {
        return new Thrown(error);
      }
    });
    if (verdicts.some((verdict) => verdict instanceof Promise)) {
      if (isAsync) return Promise.all(verdicts).then((verdicts) => this.#settle(verdicts));
      throw invalidOption("the schema validates asynchronously: a parser without I/O cannot wait for it");
    }
    return this.#settle(verdicts as (RawEvent | Thrown)[]);
  }

  #settle(verdicts: (RawEvent | Thrown)[]): unknown[] {
    for (const event of verdicts) {
      if (event instanceof Thrown) this.failure = event;
      else this.deliver(event);
      if (this.failure) break;
    }
    const ready = this.ready;
    this.ready = [];
    return ready;
  }

  #verdict(event: RawEvent): RawEvent | Promise<RawEvent> {
    const isCall = event.type === "tool_call";
    const schema = isCall
      ? this.#tools?.standard.get(event["name"] as string)
      : event.type === "record"
        ? this.#standard
        : undefined;
    if (!schema) return event;
    const member = isCall ? "parameters" : "value";
    const result = schema["~standard"].validate(event[member]);
    const verdict = (result: Awaited<ReturnType<StandardSchemaV1["~standard"]["validate"]>>): RawEvent => {
      if (!result.issues) return { ...event, [member]: result.value };
      const code = isCall ? "invalid_parameters" : "schema_violation";
      const { value: _value, parameters, completion: _completion, recovered: _recovered, ...place } = event;
      return {
        ...place,
        type: isCall ? "rejected_call" : "reject",
        line: 1,
        column: 1,
        ...(place["line"] !== undefined && { line: place["line"], column: place["column"] }),
        ...faults(result.issues, code, place as { line?: number; column?: number }),
        ...(isCall && this.#showsValues && { received: JSON.stringify(parameters, shownBigint) }),
      };
    };
    // A promise may be of another realm.
    return "then" in result ? Promise.resolve(result).then(verdict) : verdict(result);
  }

  reset(): void {
    this.machine.reset();
    this.ready = [];
    this.failure = undefined;
    this.open = undefined;
  }

  free(): void {
    this.machine.free();
  }
}
