// Files that the user takes home.

import { el } from "./dom.js";

/** Saves parts of a file, texts or blobs, under a name. */
export function saveFile(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
