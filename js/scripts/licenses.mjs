// Writes the licenses of the crates that are compiled into the modules, and the package's own.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The crates of a build with all features, without those that only build or test it. */
function crates() {
  const arguments_ = ["metadata", "--format-version=1", "--locked", "--all-features"];
  arguments_.push("--filter-platform=wasm32-unknown-unknown", "--manifest-path", join(root, "wasm/Cargo.toml"));
  const metadata = JSON.parse(execFileSync("cargo", arguments_, { maxBuffer: 2 ** 28, encoding: "utf8" }));
  const packages = new Map(metadata.packages.map((its) => [its.id, its]));
  const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
  const isMacro = (id) => packages.get(id).targets.some((target) => target.kind.includes("proc-macro"));
  const found = new Set();
  const visit = (id) => {
    if (found.has(id) || isMacro(id)) return;
    found.add(id);
    for (const dependency of nodes.get(id).deps) {
      if (dependency.dep_kinds.some((its) => its.kind === null)) visit(dependency.pkg);
    }
  };
  visit(metadata.resolve.root);
  const all = [...found].map((id) => packages.get(id)).filter((its) => its.source !== null);
  return all.sort((one, other) => (one.name < other.name ? -1 : 1));
}

export function writeLicenses() {
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, "..", name), join(root, name));
  const texts = new Map();
  const without = [];
  for (const { name, version, license, manifest_path } of crates()) {
    const folder = dirname(manifest_path);
    const named = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|unlicense|notice)/i.test(file));
    const files = named.filter((file) => statSync(join(folder, file)).isFile());
    if (files.length === 0) without.push(`${name} ${version}: ${license}`);
    for (const file of files.sort()) {
      const text = readFileSync(join(folder, file), "utf8").trim();
      texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license}): ${file}`]);
    }
  }
  const parts = [...texts].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
  if (without.length > 0) parts.unshift(`${without.join("\n")}\n`);
  const head = "The WebAssembly modules of this package contain the following crates.\n\n";
  writeFileSync(join(root, "THIRD-PARTY-LICENSES"), head + parts.join(`\n${"-".repeat(80)}\n\n`));
}
