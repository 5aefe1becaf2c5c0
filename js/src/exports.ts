export { TokenlineError } from "./errors.js";
export { Report } from "./report.js";
export type { Api } from "./api.js";
export type { OpenCall } from "./calls.js";
export type { LiveState } from "./follower.js";
export type { StandardSchemaV1 } from "./standard-schema.js";
export type { Stream } from "./stream.js";
export type { LiveStream, ResponseStream } from "./streams.js";
export type * from "./types.js";
