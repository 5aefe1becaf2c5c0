import type { LanguageModelMiddleware } from "ai";

/** A middleware of AI SDK 7, for `wrapLanguageModel`. */
export type Middleware = LanguageModelMiddleware & { readonly specificationVersion: "v4" };

type WrapStream = NonNullable<LanguageModelMiddleware["wrapStream"]>;
type WrapGenerate = NonNullable<LanguageModelMiddleware["wrapGenerate"]>;

/** A request to a language model. */
export type Request = Parameters<WrapStream>[0]["params"];
export type Prompt = Request["prompt"];
export type Message = Prompt[number];
export type UserPart = Extract<Message, { role: "user" }>["content"][number];
export type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];
export type ToolResult = Extract<Extract<Message, { role: "tool" }>["content"][number], { type: "tool-result" }>;
export type FunctionTool = Extract<NonNullable<Request["tools"]>[number], { type: "function" }>;
export type ToolChoice = NonNullable<Request["toolChoice"]>;

/** What a language model returns. */
export type Generated = Awaited<ReturnType<WrapGenerate>>;
export type Content = Generated["content"][number];
export type FinishReason = Generated["finishReason"];
export type StreamPart =
  Awaited<ReturnType<WrapStream>>["stream"] extends ReadableStream<infer Part> ? Part : never;
export type TextStart = Extract<StreamPart, { type: "text-start" }>;
export type TextDelta = Extract<StreamPart, { type: "text-delta" }>;
export type TextEnd = Extract<StreamPart, { type: "text-end" }>;
export type Metadata = NonNullable<TextDelta["providerMetadata"]>;
