// Prompts that the user saved, each with its schema, tools and options.

import { Changes, done, transaction } from "./store.js";

export const NAME_LENGTH = 100;
const FORMAT = "tokenline-prompts";
const MAX_PROMPTS = 1000;
// What belongs to the server, to a recording, or to one input rather than to the prompt.
const OTHERS = ["provider", "model", "recording", "delay", "chunk", "text"];
const isOther = (name) => OTHERS.includes(name) || /url$|key$|file|^from$/i.test(name);

/** The part of the form's values that is a prompt; the text only if asked for. */
export function promptOf(values, withText) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => (name === "text" ? withText : !isOther(name))));
}

/** Prompts as a file. */
export const toFile = (prompts) => `${JSON.stringify({ format: FORMAT, version: 1, prompts }, null, 2)}\n`;

/** The prompts of a file. Throws an error for people. */
export function fromFile(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON.");
  }
  if (file?.format !== FORMAT || !Array.isArray(file.prompts)) throw new Error("The file has no prompts of this page.");
  if (file.prompts.length > MAX_PROMPTS) throw new Error(`The file has more than ${MAX_PROMPTS} prompts.`);
  return file.prompts.map((prompt, at) => {
    const { name, values } = prompt ?? {};
    const isValue = (value) => ["string", "boolean", "number"].includes(typeof value);
    const isName = typeof name === "string" && name.trim() !== "" && name.length <= NAME_LENGTH;
    if (!isName || values === null || typeof values !== "object" || !Object.values(values).every(isValue)) {
      throw new Error(`Prompt ${at + 1} of the file is not one of this page.`);
    }
    return { name: name.trim(), values: promptOf(values, true) };
  });
}

export class Prompts {
  #changes;

  constructor(changed) {
    this.changed = changed;
    this.#changes = new Changes((what) => {
      if (what === "prompts") this.changed();
    });
  }

  /** By name: [{name, values}]. */
  async list() {
    const all = await transaction(["prompts"], "readonly", (prompts) => done(prompts.getAll()));
    return all.sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Saves prompts; those of the same names are replaced. */
  async save(...all) {
    await transaction(["prompts"], "readwrite", (prompts) => all.forEach((prompt) => prompts.put(prompt)));
    this.#tell();
  }

  /** Returns whether the new name was free. */
  async rename(from, to) {
    const isFree = await transaction(["prompts"], "readwrite", async (prompts) => {
      if ((await done(prompts.getKey(to))) !== undefined) return false;
      const prompt = await done(prompts.get(from));
      if (!prompt) return true;
      prompts.put({ ...prompt, name: to });
      prompts.delete(from);
      return true;
    });
    this.#tell();
    return isFree;
  }

  async remove(name) {
    await transaction(["prompts"], "readwrite", (prompts) => void prompts.delete(name));
    this.#tell();
  }

  #tell() {
    this.#changes.tell("prompts");
    this.changed();
  }
}
