// Builds the package into dist/: the WebAssembly modules, then the scripts around them.
//
//   node scripts/build.mjs [BUILD...]     all builds, or some of: live calls providers schema fast
//
// With the nightly toolchain and its source (`rustup component add --toolchain nightly rust-src`), the standard library is
// built as well: for size, and without the messages of panics, which a module cannot show. That makes a module a tenth
// smaller, and is what is published. Without it, the stable toolchain builds all but the standard library.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { writeLicenses } from "./licenses.mjs";

const root = new URL("..", import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));

const SMALL = ["-Oz", "--flatten", "--rereloop", "-Oz", "-Oz"];

/**
 * The builds, each with its cargo feature, the level of rustc and the passes of wasm-opt, and the most bytes that it may
 * have, compressed with gzip. `live` is small enough for the fastest code. `fast` is `schema` for servers, with the fastest code for
 * reading and validating: who imports `tokenline/schema` in Node, Deno or Bun gets it.
 */
export const BUILDS = [
  { name: "live", feature: "", level: "3", passes: ["-O3"], limit: 80_000 },
  { name: "calls", feature: "calls", level: "z", passes: SMALL, limit: 140_000 },
  { name: "providers", feature: "providers", level: "z", passes: SMALL, limit: 247_000 },
  { name: "schema", feature: "schema", level: "z", passes: SMALL, limit: 342_000 },
  { name: "fast", feature: "schema", level: "z", fast: ["core", "schema"], passes: ["-O3"], limit: 440_000 },
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

/** Whether the standard library can be built. */
export function buildsStd() {
  try {
    const root = execFileSync("rustc", ["+nightly", "--print=sysroot"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return existsSync(`${root.trim()}/lib/rustlib/src/rust/library/Cargo.lock`);
  } catch {
    return false;
  }
}

/** The arguments and flags with which the standard library is built, too. */
const STD = ["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"];
const WITHOUT_PANICS = ["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Zfmt-debug=none"];

async function run(command, args, env = {}) {
  const child = spawn(command, args, { cwd: path("."), stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
}

async function compile({ name, feature, level, fast = [] }) {
  const target = process.env.CARGO_TARGET_DIR ?? path("wasm/target");
  const isSmall = buildsStd();
  const args = [
    ...(isSmall ? ["+nightly", "build", ...STD] : ["build"]),
    "--quiet",
    "--locked",
    "--release",
    "--target=wasm32-unknown-unknown",
    "--manifest-path=wasm/Cargo.toml",
    ...(feature ? ["--features", feature] : []),
    ...fast.map((crate) => `--config=profile.release.package.tokenline-${crate}.opt-level=3`),
  ];
  await run("cargo", args, {
    CARGO_TARGET_DIR: target,
    CARGO_INCREMENTAL: "0",
    CARGO_PROFILE_RELEASE_OPT_LEVEL: level,
    RUSTFLAGS: ["-Ctarget-feature=+simd128", ...(isSmall ? WITHOUT_PANICS : [])].join(" "),
  });
  copyFileSync(`${target}/wasm32-unknown-unknown/release/tokenline_js.wasm`, path(`dist/${name}.wasm`));
}

async function optimize({ name, passes }) {
  const wasm = path(`dist/${name}.wasm`);
  const features = FEATURES.map((name) => `--enable-${name}`);
  // Rust puts nothing into the first kilobyte but the end of the stack.
  await run(path("node_modules/.bin/wasm-opt"), ["--low-memory-unused", ...passes, ...features, wasm, "-o", wasm]);
  const bytes = readFileSync(wasm);
  // A crate that binds to JavaScript by itself would have some.
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes));
  if (imports.length > 0) throw new Error(`${name}.wasm imports ${imports.map((its) => its.name).join(", ")}`);
  writeFileSync(path(`dist/builds/${name}.js`), `export default ${JSON.stringify(bytes.toString("base64"))};\n`);
  console.log(`${name}.wasm: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  if (!buildsStd()) console.log("!!! without the source of the nightly toolchain, the modules are a tenth larger than published");
  if (names.length === 0) rmSync(path("dist"), { recursive: true, force: true });
  mkdirSync(path("dist/builds"), { recursive: true });
  // One is optimized while the next is compiled.
  const optimized = [];
  for (const build of BUILDS) {
    if (names.length > 0 && !names.includes(build.name)) continue;
    await compile(build);
    optimized.push(optimize(build));
  }
  await Promise.all(optimized);
  await run(process.execPath, [path("node_modules/typescript/bin/tsc"), "-p", "."]);
  const servers = readFileSync(path("dist/schema.js"), "utf8").replace("./builds/schema.js", "./builds/fast.js");
  writeFileSync(path("dist/schema-fast.js"), servers);
  writeFileSync(path("dist/module.d.ts"), "declare const module: WebAssembly.Module;\nexport default module;\n");
  writeLicenses();
}
