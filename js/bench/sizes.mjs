// Prints the sizes of the builds, compressed with gzip: of the module, and of a script with all that the entry point exports.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const compressed = (bytes) => `${Math.round(gzipSync(bytes, { level: 9 }).length / 1000)} KB`.padStart(8);

const entries = { live: "live", index: "calls", providers: "providers", schema: "schema", "schema-fast": "fast", slim: undefined };
for (const [entry, name] of Object.entries(entries)) {
  const options = { bundle: true, minify: true, format: "esm", write: false };
  const { outputFiles } = await build({ ...options, stdin: { contents: `export * from "./${entry}.js"`, resolveDir: dist } });
  const module = name ? compressed(readFileSync(`${dist}${name}.wasm`)) : "".padStart(8);
  console.log(`${module} module ${compressed(outputFiles[0].contents)} script  ${entry}`);
}
