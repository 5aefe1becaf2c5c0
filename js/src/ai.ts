/** `tokenline/ai`: a middleware for AI SDK 7 that makes tool calls of those in a model's text. */
import { type Ending, type Reading, TextBlock, Turn, randomId } from "./ai-text.js";
import type { Content, FinishReason, FunctionTool, Generated, Middleware, Request, StreamPart, TextEnd } from "./ai-types.js";
import type { Engine } from "./engine.js";
import { TokenlineError, invalidOption } from "./errors.js";
import { type ModuleSource, engineFrom, inlined } from "./load.js";
import { checkedTools } from "./schemas.js";
import { checkOptions } from "./session.js";
import { TOOL_PROMPTS, type ToolPrompt, toolsAsText } from "./tool-prompts.js";
import type { JsonSchema, RejectedCall, Tool } from "./types.js";

export { TokenlineError } from "./errors.js";
export type { ModuleSource } from "./load.js";
export type { PromptTool, ToolPrompt } from "./tool-prompts.js";
export type { RejectedCall } from "./types.js";

/** How calls are found in the text, and how tools are given to the model. */
export interface ExtractToolCallsOptions {
  /**
   * The model, or its server, takes no tools: they are written into the system prompt, and earlier calls and results into
   * the messages. `true` is `hermes`; `qwen3` is for Qwen 2.5 and 3. By default, tools are passed on to the server, which
   * leaves the model's calls in the text.
   */
  toolsInPrompt?: boolean | keyof typeof TOOL_PROMPTS | ToolPrompt;
  /**
   * How the calls are written: a syntax, or a family of models. `auto`, the default, reads all of them, but takes no call
   * out of inline code, nor out of a block of code unless models write calls in blocks of its language. With a syntax,
   * those are calls too.
   */
  callFormat?: string;
  /** Calls are shown while they are being written: `tool-input-start`, `-delta` and `-end`. `true` by default. */
  growing?: boolean;
  /** The response begins inside the model's reasoning: its prompt has the opening `<think>`. */
  inReasoning?: boolean;
  /** Bytes of a line or of a call; 8 MiB by default. */
  lineBytes?: number;
  /** Containers around a value in a call; 127 by default. */
  depth?: number;
  /** Makes the id of a call whose text has none. By default, nine random letters and digits. */
  generateId?: () => string;
  /** Called for each call that is malformed or truncated, of an unknown tool, or whose input is invalid. */
  onRejectedCall?: (call: RejectedCall) => void;
  /** The WebAssembly module `tokenline/schema.wasm`, where a script cannot compile it: in Cloudflare Workers. */
  module?: ModuleSource | PromiseLike<ModuleSource>;
}

const PARSER = ["callFormat", "lineBytes", "depth"] as const;
const OPTIONS = [...PARSER, "toolsInPrompt", "growing", "inReasoning", "generateId", "onRejectedCall", "module"];

let shared: Promise<Engine> | undefined;

/** The engine over the module that the package carries. It is loaded when it is first needed. */
function carried(): Promise<Engine> {
  shared ??= import("./builds/schema.js").then(
    (build) => inlined(build.default)(),
    (error: unknown) => {
      // It may load the next time.
      shared = undefined;
      throw error;
    },
  );
  return shared;
}

function promptOf(option: ExtractToolCallsOptions["toolsInPrompt"]): ToolPrompt | undefined {
  if (option === undefined || option === false) return undefined;
  if (option === true) return TOOL_PROMPTS.hermes;
  if (typeof option === "string" && Object.hasOwn(TOOL_PROMPTS, option)) return TOOL_PROMPTS[option];
  if (typeof option === "object" && option !== null) return option;
  const names = Object.keys(TOOL_PROMPTS).join(", ");
  throw invalidOption(`unknown toolsInPrompt ${JSON.stringify(option)}; expected true, ${names}, or a ToolPrompt`);
}

/** The schema with nothing but the types of its members: one that the engine cannot compile is the SDK's to check. */
function typesOnly(schema: unknown): JsonSchema {
  const { properties } = (schema ?? {}) as { properties?: { [name: string]: { type?: unknown } } };
  const typed = Object.entries(properties ?? {}).filter(([, member]) => typeof member?.type === "string");
  return { type: "object", properties: Object.fromEntries(typed.map(([name, { type }]) => [name, { type }])) };
}

/** The tools as the engine takes them. */
function compiled(engine: Engine, tools: FunctionTool[]): Tool[] {
  const compiles = (tools: Tool[]): boolean => {
    try {
      checkedTools(engine, tools);
      return true;
    } catch (error) {
      if (error instanceof TokenlineError && error.code === "unsupported_schema") return false;
      throw error;
    }
  };
  const asGiven: Tool[] = tools.map(({ name, inputSchema }) => ({ name, inputSchema: inputSchema as JsonSchema }));
  if (compiles(asGiven)) return asGiven;
  return asGiven.map((tool) => {
    const { name, inputSchema } = tool;
    const all: Tool[] = [tool, { name, inputSchema: typesOnly(inputSchema) }];
    return all.find((tool) => compiles([tool])) ?? { name, inputSchema: { type: "object" } };
  });
}

function idsIn(request: Request): Set<string> {
  const ids = new Set<string>();
  for (const message of request.prompt) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "tool-call") ids.add(part.toolCallId);
  }
  return ids;
}

/** How a response has ended, as far as its last text goes. */
function endingOf({ unified }: FinishReason): Ending {
  if (unified === "stop" || unified === "tool-calls") return "complete";
  return unified === "error" || unified === "interrupted" ? "failed" : "cut";
}

/** With calls, the SDK goes on. */
function finishReason(given: FinishReason, turn: Turn): FinishReason {
  return given.unified === "stop" && turn.calls > 0 ? { ...given, unified: "tool-calls" } : given;
}

/** Makes a stream's parts of those that the model sends. */
class Transform implements Transformer<StreamPart, StreamPart> {
  readonly #turn: Turn;
  #inReasoning: boolean;
  readonly #blocks = new Map<string, TextBlock>();
  /** Blocks that have ended, though nothing has told yet how. */
  readonly #ended = new Map<string, TextEnd>();
  #out: TransformStreamDefaultController<StreamPart> | undefined;
  #hasFailed = false;

  constructor(turn: Turn, inReasoning: boolean) {
    this.#turn = turn;
    this.#inReasoning = inReasoning;
  }

  transform(part: StreamPart, out: TransformStreamDefaultController<StreamPart>): void {
    this.#out = out;
    switch (part.type) {
      case "text-start": {
        this.#settle("complete");
        // One that has no end, and whose id is used again.
        this.#blocks.get(part.id)?.end("complete", undefined);
        const enqueue = (part: StreamPart) => this.#out!.enqueue(part);
        this.#blocks.set(part.id, new TextBlock(this.#turn, part.id, part, enqueue, this.#inReasoning));
        this.#inReasoning = false;
        return;
      }
      case "text-delta": {
        const block = this.#blocks.get(part.id);
        if (!block) break;
        block.push(part.delta, part.providerMetadata);
        return;
      }
      case "text-end":
        if (!this.#blocks.has(part.id)) break;
        this.#ended.set(part.id, part);
        return;
      case "finish":
        this.#finish(this.#hasFailed ? "failed" : endingOf(part.finishReason));
        out.enqueue({ ...part, finishReason: finishReason(part.finishReason, this.#turn) });
        return;
      case "error":
        this.#hasFailed = true;
        break;
      // Nothing that the model writes: it does not prove that the text before it is whole.
      case "source":
      case "stream-start":
      case "response-metadata":
      case "ping":
      case "raw":
        break;
      case "tool-call":
        this.#turn.take(part.toolCallId);
        this.#settle("complete");
        break;
      default:
        this.#settle("complete");
    }
    out.enqueue(part);
  }

  flush(): void {
    // Without a finish, the stream was cut off.
    this.#finish("failed");
  }

  /** Ends the blocks that have ended. */
  #settle(ending: Ending): void {
    for (const [id, end] of this.#ended) {
      this.#blocks.get(id)!.end(ending, end);
      this.#blocks.delete(id);
    }
    this.#ended.clear();
  }

  #finish(ending: Ending): void {
    this.#settle(ending);
    for (const block of this.#blocks.values()) block.end(ending, undefined);
    this.#blocks.clear();
  }
}

/** Makes the content of a response of that which the model returned. */
function generated(result: Generated, turn: Turn, inReasoning: boolean): Generated {
  for (const part of result.content) if (part.type === "tool-call") turn.take(part.toolCallId);
  const last = result.content.findLastIndex((part) => part.type !== "source");
  const content = result.content.flatMap((part, at): Content[] => {
    if (part.type !== "text") return [part];
    const parts: Content[] = [];
    const { text, citations, ...rest } = part;
    const block = new TextBlock(turn, "", undefined, (made) => add(parts, made), inReasoning);
    inReasoning = false;
    block.push(text);
    block.end(at === last ? endingOf(result.finishReason) : "complete", undefined);
    const texts = parts.filter((made) => made.type === "text");
    if (!block.isSplit) return [{ ...part, text: texts[0]?.text ?? "" }];
    if (texts[0]) Object.assign(texts[0], rest);
    if (citations && texts.length > 0) texts.at(-1)!.citations = citations;
    return parts;
  });
  return { ...result, content, finishReason: finishReason(result.finishReason, turn) };
}

/** Adds a part of a stream to content. */
function add(content: Content[], part: StreamPart): void {
  switch (part.type) {
    case "text-start":
      content.push({ type: "text", text: "" });
      break;
    case "reasoning-start":
      content.push({ type: "reasoning", text: "" });
      break;
    case "text-delta":
    case "reasoning-delta":
      (content.at(-1) as { text: string }).text += part.delta;
      break;
    case "tool-call":
      content.push(part);
      break;
  }
}

/**
 * A middleware that makes tool calls of those in a model's text: for servers that leave the model's own call syntax there,
 * and for models that take no tools.
 *
 * ```ts
 * import { isStepCount, streamText, wrapLanguageModel } from "ai";
 * import { extractToolCallsMiddleware } from "tokenline/ai";
 *
 * const model = wrapLanguageModel({
 *   model: provider("qwen3-coder"),
 *   middleware: extractToolCallsMiddleware({ toolsInPrompt: true }),
 * });
 * const result = streamText({ model, tools, prompt: "What is the weather in Paris?", stopWhen: isStepCount(5) });
 * ```
 *
 * Text passes as soon as it is certain that it is no call. A call of a known tool is shown while it is being written, and
 * delivered once it is proven complete. Then:
 *
 * - One whose input breaks the tool's schema is delivered, and the SDK validates it as it does native calls: it goes back
 *   to the model as an error, after `repairToolCall`. A tool whose schema cannot validate, such as one made with
 *   `jsonSchema(...)` alone, validates its input itself, as it does for native calls.
 * - One that is malformed, ambiguous or truncated is never run. It is delivered with an input that is not JSON, which says
 *   why, so that the SDK reports it to the model. Of a response that failed, it is not delivered.
 * - A call in inline code, or in a block of code in another language, is text.
 *
 * With `toolChoice: "none"`, everything is text.
 */
export function extractToolCallsMiddleware(options: ExtractToolCallsOptions = {}): Middleware {
  checkOptions("extractToolCallsMiddleware", options, OPTIONS);
  const { growing = true, inReasoning = false, generateId = randomId, onRejectedCall, module } = options;
  if (typeof growing !== "boolean") throw invalidOption("`growing` must be a boolean");
  const prompt = promptOf(options.toolsInPrompt);
  const given = PARSER.filter((option) => options[option] !== undefined).map((option) => [option, options[option]]);
  const parser = Object.fromEntries(given) as Reading["options"];
  let loaded: Promise<Engine> | undefined;
  /** The last tools, which the steps of a loop share. */
  let last: { key: string; tools: Tool[] } | undefined;

  /** A reader of the response to a request; none if there are no calls to be found. */
  const turnOf = async (request: Request, isGrowing: boolean): Promise<Turn | undefined> => {
    const functions = request.tools?.filter((tool): tool is FunctionTool => tool.type === "function") ?? [];
    if (functions.length === 0 || request.toolChoice?.type === "none") return undefined;
    if (module !== undefined) loaded ??= engineFrom(module);
    const engine = await (loaded ?? carried());
    const key = JSON.stringify(functions.map(({ name, inputSchema }) => [name, inputSchema]));
    if (last?.key !== key) last = { key, tools: compiled(engine, functions) };
    const reading: Reading = {
      engine,
      tools: last.tools,
      names: new Set(functions.map(({ name }) => name)),
      options: parser,
      isGrowing,
      keepsUnknown: prompt === undefined || request.responseFormat?.type === "json",
      onRejectedCall,
      generateId,
    };
    return new Turn(reading, idsIn(request));
  };

  return {
    specificationVersion: "v4",

    async wrapGenerate({ doGenerate, params, model }) {
      const turn = await turnOf(params, false);
      const result = await (prompt ? model.doGenerate(toolsAsText(params, prompt)) : doGenerate());
      return turn ? generated(result, turn, inReasoning) : result;
    },

    async wrapStream({ doStream, params, model }) {
      const turn = await turnOf(params, growing);
      const { stream, ...rest } = await (prompt ? model.doStream(toolsAsText(params, prompt)) : doStream());
      return { ...rest, stream: turn ? stream.pipeThrough(new TransformStream(new Transform(turn, inReasoning))) : stream };
    },
  };
}
