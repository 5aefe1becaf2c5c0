// Saved prompts: each with its schema, tools and options, to load into the form.

import { Dialog, button } from "./dialog.js";
import { clipped, el, plural, setText } from "./dom.js";
import { NAME_LENGTH, fromFile, promptOf, toFile } from "./prompts.js";
import { saveFile } from "./save-file.js";
import { problemOf } from "./store.js";

const MAX_FILE = 20_000_000;

export class PromptsView {
  #prompts;
  #acts;
  #dialog;
  #names = [];
  #name = el("input", { type: "text", id: "prompt-name", maxlength: NAME_LENGTH, autocomplete: "off", "aria-describedby": "prompt-name-note" });
  #note = el("p", { class: "hint", id: "prompt-name-note", role: "status" });
  #withText = el("input", { type: "checkbox", id: "prompt-with-text" });
  #list = el("ul", { class: "entries" });
  #empty = el("p", { class: "empty" }, "No saved prompts yet. A saved prompt keeps its schema, tools and options.");
  #said = el("p", { class: "hint", role: "status" });
  #save;
  #export;

  /** `acts`: {values(), load(values)} */
  constructor(prompts, acts) {
    this.#prompts = prompts;
    this.#acts = acts;
    this.#save = button("Save", "", () => this.#saveForm());
    this.#export = button("Export", "the saved prompts", () => this.#exportAll());
    const file = el("input", { type: "file", accept: ".json,application/json", hidden: "", "aria-label": "File of saved prompts" });
    file.addEventListener("change", () => {
      this.#import(file.files[0]);
      file.value = ""; // so that the same file can be chosen again
    });
    this.#name.addEventListener("input", () => this.#showName());
    this.#name.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#saveForm();
    });
    const field = el("div", { class: "field" }, el("label", { for: "prompt-name" }, "Save the form's prompt as"), this.#name);
    const withText = el("label", { class: "switch", for: "prompt-with-text" }, this.#withText, "With the text to extract from");
    this.#dialog = new Dialog(
      "prompts",
      "Saved prompts",
      el("div", { class: "save-row" }, field, this.#save),
      el("div", { class: "panel-head" }, withText, this.#note),
      this.#empty,
      this.#list,
    );
    const buttons = el("div", { class: "buttons" }, button("Import", "saved prompts", () => file.click()), file, this.#export);
    this.#dialog.element.append(el("div", { class: "dialog-foot" }, this.#said, buttons));
  }

  async open() {
    setText(this.#said, "They stay in the storage of this browser.");
    await this.refresh(true);
    this.#showName();
    this.#dialog.open();
    this.#name.focus();
  }

  async refresh(always = false) {
    if (!always && !this.#dialog.isOpen) return;
    let all = [];
    try {
      all = await this.#prompts.list();
    } catch (error) {
      setText(this.#said, `${problemOf(error)} Prompts cannot be saved.`);
    }
    this.#names = all.map(({ name }) => name);
    this.#list.replaceChildren(...all.map((prompt) => this.#entry(prompt)));
    this.#list.hidden = all.length === 0;
    this.#empty.hidden = all.length > 0;
    this.#export.hidden = all.length === 0;
    this.#showName();
  }

  #entry({ name, values }) {
    const words = (values.prompt || values["prompt-id"] || values.system || "").slice(0, 400).replace(/\s+/g, " ").trim();
    const parts = [clipped(words, words.length, 120)];
    if (values.check && values.check !== "none") parts.push(`with ${values.check === "tools" ? "tools" : "a schema"}`);
    if (values.text) parts.push("with its text");
    const shown = clipped(name, name.length, NAME_LENGTH);
    const item = el("li");
    const remove = button("Delete", `the prompt ${shown}`, () => this.#try(() => this.#prompts.remove(name), this.#name));
    const show = () =>
      item.replaceChildren(
        el(
          "div",
          { class: "entry" },
          el("p", { class: "entry-title", dir: "auto" }, shown),
          el("p", { class: "details", dir: "auto" }, parts.filter(Boolean).join(" \u00b7 ")),
        ),
        el(
          "div",
          { class: "buttons" },
          button("Load", `the prompt ${shown}`, () => {
            this.#dialog.close();
            this.#acts.load(values);
          }),
          button("Rename", `the prompt ${shown}`, () => this.#rename(item, name, show)),
          remove,
        ),
      );
    show();
    return item;
  }

  #rename(item, name, back) {
    const input = el("input", { type: "text", maxlength: NAME_LENGTH, "aria-label": "New name", autocomplete: "off" });
    input.value = name;
    const cancel = () => {
      back();
      item.querySelectorAll("button")[1].focus();
    };
    const rename = () => {
      const to = input.value.trim();
      if (to === "" || to === name) return cancel();
      this.#try(async () => {
        if (await this.#prompts.rename(name, to)) return setText(this.#said, `Renamed to ${clipped(to, to.length, NAME_LENGTH)}.`);
        setText(this.#said, "Another prompt has this name.");
      }, this.#name);
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") rename();
      if (event.key !== "Escape") return;
      event.preventDefault(); // else the dialog closes
      cancel();
    });
    item.replaceChildren(
      el("div", { class: "entry" }, input),
      el("div", { class: "buttons" }, button("Save", "the new name", rename), button("Cancel", "", cancel)),
    );
    input.select();
  }

  async #try(act, focus) {
    try {
      await act();
    } catch (error) {
      setText(this.#said, problemOf(error));
    }
    // What had the focus may be gone.
    focus?.focus();
  }

  #showName() {
    const isTaken = this.#names.includes(this.#name.value.trim());
    setText(this.#save, isTaken ? "Replace" : "Save");
    setText(this.#note, isTaken ? "A saved prompt has this name. Replace overwrites it." : "");
  }

  #saveForm() {
    const name = this.#name.value.trim();
    if (name === "") {
      setText(this.#note, "Enter a name.");
      this.#name.focus();
      return;
    }
    const prompt = { name, values: promptOf(this.#acts.values(), this.#withText.checked) };
    this.#try(async () => {
      await this.#prompts.save(prompt);
      this.#name.value = "";
      setText(this.#said, `Saved as ${clipped(name, name.length, NAME_LENGTH)}.`);
    }, this.#name);
  }

  #exportAll() {
    this.#try(async () => saveFile("tokenline-prompts.json", [toFile(await this.#prompts.list())], "application/json"));
  }

  async #import(file) {
    try {
      if (!file) return;
      if (file.size > MAX_FILE) throw new Error(`The file has more than ${MAX_FILE / 1e6} MB.`);
      const all = fromFile(await file.text());
      await this.#prompts.save(...all);
      setText(this.#said, `Imported ${plural(all.length, "prompt")}.`);
    } catch (error) {
      setText(this.#said, error instanceof DOMException ? problemOf(error) : error.message);
    }
  }
}
