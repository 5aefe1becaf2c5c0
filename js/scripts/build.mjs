// Builds the package into dist/: the WebAssembly modules, then the scripts around them.
//
//   node scripts/build.mjs [BUILD...]     all builds, or some of: live calls providers schema
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { writeLicenses } from "./licenses.mjs";

const root = new URL("..", import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));

/**
 * The builds, each with its cargo feature, the levels of optimization of rustc and wasm-opt, and the most bytes that it may
 * have, compressed with gzip. `live` has room for code that is a third faster.
 */
export const BUILDS = [
  { name: "live", feature: "", levels: ["s", "-O3"], limit: 80_000 },
  { name: "calls", feature: "calls", levels: ["z", "-Oz"], limit: 162_000 },
  { name: "providers", feature: "providers", levels: ["z", "-Oz"], limit: 280_000 },
  { name: "schema", feature: "schema", levels: ["z", "-Oz"], limit: 385_000 },
];

/** WebAssembly's features that every runtime since 2023 has. */
const FEATURES = [
  "bulk-memory",
  "mutable-globals",
  "multivalue",
  "nontrapping-float-to-int",
  "reference-types",
  "sign-ext",
  "simd",
];

function run(command, args, env = {}) {
  execFileSync(command, args, { cwd: path("."), stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });
}

function module({ name, feature, levels: [rustc, wasmOpt] }) {
  const target = process.env.CARGO_TARGET_DIR ?? path("wasm/target");
  run("cargo", [
    "build",
    "--quiet",
    "--locked",
    "--release",
    "--target=wasm32-unknown-unknown",
    "--manifest-path=wasm/Cargo.toml",
    ...(feature ? ["--features", feature] : []),
  ], {
    CARGO_TARGET_DIR: target,
    CARGO_INCREMENTAL: "0",
    CARGO_PROFILE_RELEASE_OPT_LEVEL: rustc,
    RUSTFLAGS: "-C target-feature=+simd128",
  });
  const built = `${target}/wasm32-unknown-unknown/release/tokenline_js.wasm`;
  const wasm = path(`dist/${name}.wasm`);
  run(path("node_modules/.bin/wasm-opt"), [wasmOpt, ...FEATURES.map((name) => `--enable-${name}`), built, "-o", wasm]);
  const bytes = readFileSync(wasm);
  // A crate that binds to JavaScript by itself would have some.
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes));
  if (imports.length > 0) throw new Error(`${name}.wasm imports ${imports.map((its) => its.name).join(", ")}`);
  writeFileSync(path(`dist/builds/${name}.js`), `export default ${JSON.stringify(bytes.toString("base64"))};\n`);
  console.log(`${name}.wasm: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  if (names.length === 0) rmSync(path("dist"), { recursive: true, force: true });
  mkdirSync(path("dist/builds"), { recursive: true });
  for (const build of BUILDS) {
    if (names.length === 0 || names.includes(build.name)) module(build);
  }
  run(process.execPath, [path("node_modules/typescript/bin/tsc"), "-p", "."]);
  writeLicenses();
}
