/**
 * `tokenline/slim`: the functions without the module, for Cloudflare Workers, content delivery networks and plugins of
 * bundlers. The modules are `tokenline/live.wasm`, `calls.wasm`, `providers.wasm` and `schema.wasm`.
 */
import { type Api, apiOf } from "./api.js";
import { type ModuleSource, engineFrom, engineOf } from "./load.js";

export * from "./exports.js";
export type { ModuleSource } from "./load.js";

/** The functions over a module: compiled, as bytes, as a response, or at a URL. */
export async function init(source: ModuleSource | PromiseLike<ModuleSource>): Promise<Api> {
  const engine = await engineFrom(source);
  return apiOf(() => engine);
}

/** The functions over a module that is there. */
export function initSync(source: WebAssembly.Module | BufferSource): Api {
  const engine = engineOf(source);
  return apiOf(() => engine);
}
