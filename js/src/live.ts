/** `tokenline/live`: records, and values as they grow. The smallest build. */
import { type Api, apiOf } from "./api.js";
import base64 from "./builds/live.js";
import { inlined } from "./load.js";
import type * as parsers from "./parsers.js";
import type { Schema } from "./types.js";

export * from "./exports.js";

const api = /* @__PURE__ */ apiOf(/* @__PURE__ */ inlined(base64));

export const records: Api["records"] = api.records;
export const live: Api["live"] = api.live;
export const validate: Api["validate"] = api.validate;
export const JsonlParser: Api["JsonlParser"] = api.JsonlParser;
export const Live: Api["Live"] = api.Live;
export const RecordTransform: Api["RecordTransform"] = api.RecordTransform;
export type JsonlParser<S extends Schema = Schema> = parsers.JsonlParser<S>;
export type Live<S extends Schema = Schema> = parsers.Live<S>;
export type RecordTransform<S extends Schema = Schema> = parsers.RecordTransform<S>;
