import { Engine } from "./engine.js";
import { TokenlineError } from "./errors.js";

/** What {@link init} takes: a compiled module, its bytes, a response with them, or where they are. */
export type ModuleSource = WebAssembly.Module | BufferSource | Response | URL | string;

function compiled(error: unknown): TokenlineError {
  return new TokenlineError(
    "unavailable",
    "the WebAssembly module cannot be compiled. It needs SIMD: Node 16.4, Chrome 91, Firefox 89, Safari 16.4 or later. " +
      "A page needs `wasm-unsafe-eval` in its content security policy; Cloudflare Workers need the entry point " +
      `\`tokenline/slim\`. (${String(error)})`,
    { cause: error },
  );
}

function check(): void {
  if (typeof WebAssembly === "undefined") {
    throw new TokenlineError(
      "unavailable",
      "this JavaScript engine has no WebAssembly, which tokenline needs. React Native's Hermes has none: read the stream " +
        "on a server, and send the app records",
    );
  }
}

/** Compiles bytes, or takes a compiled module. */
export function engineOf(source: WebAssembly.Module | BufferSource): Engine {
  check();
  try {
    return new Engine(source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source));
  } catch (error) {
    throw compiled(error);
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  const from = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (from) return from(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/** The engine over a module that a script carries. It is compiled when it is first needed. */
export function inlined(base64: string): () => Engine {
  let engine: Engine | undefined;
  return () => {
    check();
    return (engine ??= engineOf(decoded(base64)));
  };
}

/** Reads a file, where `fetch` does not. */
function file(url: URL): BufferSource | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const fs = process?.getBuiltinModule?.("node:fs") as { readFileSync(url: URL): Uint8Array<ArrayBuffer> } | undefined;
  return fs?.readFileSync(url);
}

/** What is at a URL, in a page relative to it. */
async function fetched(from: string | URL): Promise<BufferSource | Response> {
  try {
    const url = new URL(from, (globalThis as { location?: { href: string } }).location?.href);
    return (url.protocol === "file:" ? file(url) : undefined) ?? (await fetch(url));
  } catch (error) {
    const message = `the WebAssembly module cannot be loaded from ${from}: ${error instanceof Error ? error.message : error}`;
    throw new TokenlineError("unavailable", message, { cause: error });
  }
}

/** Whether this is a response, also one of another implementation of `fetch`. */
function isResponse(source: WebAssembly.Module | BufferSource | Response): source is Response {
  return typeof source === "object" && source !== null && "arrayBuffer" in source;
}

/** Compiles a module from anywhere. */
export async function engineFrom(given: ModuleSource | PromiseLike<ModuleSource>): Promise<Engine> {
  check();
  const loaded = await given;
  const source = typeof loaded === "string" || loaded instanceof URL ? await fetched(loaded) : loaded;
  if (!isResponse(source)) return engineOf(source);
  if (!source.ok) {
    throw new TokenlineError("unavailable", `the WebAssembly module: HTTP ${source.status}`, { status: source.status });
  }
  const isWasm = source.headers.get("content-type")?.startsWith("application/wasm");
  try {
    // Only with its content type is it compiled as it arrives.
    return isWasm ? new Engine(await WebAssembly.compileStreaming(source)) : engineOf(await source.arrayBuffer());
  } catch (error) {
    throw error instanceof TokenlineError ? error : compiled(error);
  }
}
