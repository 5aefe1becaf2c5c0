/** `tokenline/schema` on servers: the same with the faster module, whose size does not matter there. */
import { type Api, apiOf } from "./api.js";
import base64 from "./builds/fast.js";
import { inlined } from "./load.js";
import type * as parsers from "./parsers.js";
import type { Schema } from "./types.js";

export * from "./exports.js";

const api = /* @__PURE__ */ apiOf(/* @__PURE__ */ inlined(base64));

export const records: Api["records"] = api.records;
export const live: Api["live"] = api.live;
export const toolCalls: Api["toolCalls"] = api.toolCalls;
export const responses: Api["responses"] = api.responses;
export const validate: Api["validate"] = api.validate;
export const JsonlParser: Api["JsonlParser"] = api.JsonlParser;
export const Live: Api["Live"] = api.Live;
export const ToolCallParser: Api["ToolCallParser"] = api.ToolCallParser;
export const ResponseParser: Api["ResponseParser"] = api.ResponseParser;
export const RecordTransform: Api["RecordTransform"] = api.RecordTransform;
export const ToolCallTransform: Api["ToolCallTransform"] = api.ToolCallTransform;
export type JsonlParser<S extends Schema = Schema> = parsers.JsonlParser<S>;
export type Live<S extends Schema = Schema> = parsers.Live<S>;
export type ToolCallParser = parsers.ToolCallParser;
export type ResponseParser<S extends Schema = Schema> = parsers.ResponseParser<S>;
export type RecordTransform<S extends Schema = Schema> = parsers.RecordTransform<S>;
export type ToolCallTransform = parsers.ToolCallTransform;
