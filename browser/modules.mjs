// The page's modules that need no browser.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

// On the page they are modules by their tag, here by a package.json beside them.
const folder = mkdtempSync(path.join(tmpdir(), "tokenline-page-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
cpSync(process.env.PAGE_ASSETS || path.resolve("../crates/tokenline-cli/src/serve/assets"), folder, { recursive: true });
writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');

export const load = (name) => import(pathToFileURL(path.join(folder, name)).href);
