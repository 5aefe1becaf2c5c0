// The form: what to ask for, checked before it is sent.

import { el, number, plural, setText, visible } from "./dom.js";
import { problemOfObject, problemOfSchema, problemOfTools } from "./checks.js";

const FIELDS = [
  "provider", "recording", "model", "prompt-id", "prompt", "text", "system", "max-tokens", "temperature", "seed", "set", "schema",
  "send-schema", "tools", "call-format", "reask", "repair", "stop-on-repetition", "base-url", "from", "delay", "chunk",
];
// A key is not among the values: they are kept over a reload, and in the history.
const CHECKED = ["schema", "tools", "max-tokens", "temperature", "seed", "set"];
/** The largest file that the server takes, in bytes: as JSON it is longer. */
const MAX_FILE = 3_000_000;

/** The largest request that the server takes, in characters: most are one byte. */
const MAX_BODY = 7_000_000;

const isBox = (field) => field.type === "checkbox";

export class Form {
  #root;
  #options = { providers: [], prompts: [] };
  #field = {};
  #schemaOfPrompt = ""; // what was filled in for a built-in prompt
  #content = null; // of the chosen file: {name, text}
  #fileHint; // what stands where its name will
  #opening = null; // the file that was chosen last
  #modelsOf = ""; // whose models are listed

  constructor(root) {
    this.#root = root;
    this.#fileHint = root.querySelector("#file-name").textContent;
    for (const name of FIELDS) this.#field[name] = root.querySelector(`#${name}`);
    root.addEventListener("change", () => this.#show());
    root.addEventListener("input", () => this.#showSliders());
    for (const name of CHECKED) this.#field[name].addEventListener("blur", () => this.#check(name));
    this.#field.model.addEventListener("focus", () => this.#listModels());
    root.querySelector("#file").addEventListener("change", ({ target }) => {
      if (target.files.length > 0) this.openFile(target.files[0]);
    });
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) root.requestSubmit();
    });
  }

  /** Fills the choices the server offers, and the values of before a reload. */
  fill(options, values) {
    this.#options = options;
    const choices = (select, list, name) => {
      select.replaceChildren(...list.map((item) => el("option", { value: item[name] }, item.title ?? item[name])));
    };
    choices(this.#field.provider, options.providers, "name");
    choices(this.#field.recording, options.providers.find(({ name }) => name === "recorded")?.models ?? [], "name");
    choices(this.#field["prompt-id"], [{ id: "", title: "Your own prompt" }, ...options.prompts], "id");
    const formats = options.providers.filter(({ name }) => name !== "recorded");
    choices(this.#field.from, [{ name: "", title: "Detect" }, { name: "text", title: "Text" }, ...formats], "name");
    this.#field.provider.append(el("option", { value: "file" }, "A saved response"));
    for (const part of this.#root.querySelectorAll("[data-server]")) part.hidden = !options.allow_base_url;
    for (const [name, value] of Object.entries(values ?? {})) {
      if (name === "check") this.#choose(value);
      else if (FIELDS.includes(name)) this.#set(name, value);
    }
    if (this.#field.provider.selectedIndex < 0) this.#field.provider.selectedIndex = 0;
    if (this.#field.recording.selectedIndex < 0) this.#field.recording.selectedIndex = 0;
    if (this.#field["prompt-id"].selectedIndex < 0) this.#field["prompt-id"].selectedIndex = 0;
    this.#schemaOfPrompt = this.#schemaText(this.#prompt?.schema);
    this.#show();
  }

  /** Says that there are no choices. */
  fail(message) {
    const note = this.#root.querySelector("#provider-note");
    note.hidden = false;
    setText(note, message);
  }

  /** The values for `fill` after a reload. */
  values() {
    const values = { check: this.#checkWith };
    for (const name of FIELDS) values[name] = this.#value(name);
    return values;
  }

  /** Chooses a file, as if it was a provider's response. */
  async openFile(file, files) {
    this.#opening = file;
    this.#field.provider.value = "file";
    if (files) this.#root.querySelector("#file").files = files;
    this.#show();
    const note = this.#root.querySelector("#file-name");
    this.#content = null;
    if (file.size > MAX_FILE) {
      return this.#report("file", "The file has more than 3 MB. Use `tokenline parse` in a terminal.");
    }
    const text = await file.text();
    // Another one was chosen meanwhile.
    if (this.#opening !== file) return false;
    if (text.includes("\0")) return this.#report("file", "The file is not text. `tokenline parse` reads binary streams.");
    this.#content = { name: file.name, text };
    setText(note, `${visible(file.name)}, ${number(file.size)} bytes`);
    return this.#report("file", "");
  }

  /** Forgets the chosen file. */
  forgetFile() {
    this.#content = null;
    this.#root.querySelector("#file").value = "";
    setText(this.#root.querySelector("#file-name"), this.#fileHint);
  }

  #value(name) {
    const field = this.#field[name];
    return isBox(field) ? field.checked : field.value;
  }

  #set(name, value) {
    const field = this.#field[name];
    if (isBox(field)) field.checked = value === true;
    else if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
  }

  /** The body of the request as JSON text; null if a field is wrong, which is then said and focused. */
  body() {
    const used = this.#isSent ? ["max-tokens", "temperature", "seed", "set"] : [];
    if (this.#checkWith !== "none") used.push(this.#checkWith);
    const wrong = used.filter((name) => !this.#check(name));
    if (!this.#checkNeeded()) wrong.unshift(this.#isSent ? (this.#prompt ? "text" : "prompt") : "file");
    if (this.#isSent && !this.#checkModel()) wrong.unshift("model");
    if (wrong.length > 0) {
      const field = this.#root.querySelector(`#${wrong[0]}`);
      const details = field.closest("details");
      if (details) details.open = true;
      field.focus();
      // The message is below the field, and the buttons are in front of the end of the form.
      this.#root.querySelector(`#${wrong[0]}-error`).scrollIntoView({ block: "nearest" });
      return null;
    }
    // Schema and tools go as they were written: parsing them would change number literals.
    const members = [];
    const add = (name, value) => members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    const value = (name) => this.#field[name].value;
    add("provider", value("provider"));
    const source = this.#isFile ? this.#content.name.slice(0, 80).toWellFormed() : this.#isRecorded ? value("recording") : value("model").trim();
    add("model", source);
    for (const name of ["repair", "stop-on-repetition"]) {
      if (this.#value(name)) add(name.replaceAll("-", "_"), true);
    }
    if (this.#isFile) {
      add("content", this.#content.text);
      if (value("from") !== "") add("from", value("from"));
    } else if (this.#isRecorded) {
      add("recording", { delay_ms: Number(value("delay")), chunk_size: Number(value("chunk")) });
    } else {
      if (this.#prompt) add("prompt_id", this.#prompt.id);
      else add("prompt", value("prompt"));
      if (value("text").trim() !== "") add("text", value("text"));
      if (value("system").trim() !== "") add("system", value("system"));
      for (const name of ["max-tokens", "temperature"]) {
        if (value(name) !== "") add(name.replace("-", "_"), Number(value(name)));
      }
      // A seed may have more digits than a number of JavaScript.
      if (value("seed") !== "") members.push(`"seed":${BigInt(value("seed"))}`);
      if (value("set").trim() !== "") members.push(`"set":${value("set")}`);
      if (value("reask") !== "0") add("reask", Number(value("reask")));
      if (this.#checkWith === "schema" && value("send-schema") !== "none") add("send_schema", value("send-schema"));
      for (const [name, given] of Object.entries(this.server)) add(name, given);
    }
    const checkWith = this.#checkWith;
    if (checkWith === "tools" && this.#isSent && value("call-format") !== "") add("call_format", value("call-format"));
    if (checkWith !== "none") members.push(`"${checkWith}":${value(checkWith)}`);
    const body = `{${members.join(",")}}`;
    if (body.length <= MAX_BODY) return body;
    this.#report(this.#isFile ? "file" : "text", "This is too much for the page: use `tokenline` in a terminal.");
    return null;
  }

  get #provider() {
    return this.#options.providers.find(({ name }) => name === this.#field.provider.value);
  }

  /** The server and the key that the page names, if it may. */
  get server() {
    if (!this.#options.allow_base_url) return {};
    const given = [["base_url", this.#field["base-url"].value], ["api_key", this.#root.querySelector("#api-key").value]];
    return Object.fromEntries(given.map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ""));
  }

  get #isRecorded() {
    return this.#field.provider.value === "recorded";
  }

  get #isFile() {
    return this.#field.provider.value === "file";
  }

  /** Whether a request is sent to a provider. */
  get #isSent() {
    return !this.#isRecorded && !this.#isFile;
  }

  get #prompt() {
    const id = this.#field["prompt-id"].value;
    return id === "" ? undefined : this.#options.prompts.find((prompt) => prompt.id === id);
  }

  get #checkWith() {
    return this.#root.querySelector('input[name="check"]:checked').value;
  }

  #choose(value) {
    const radio = [...this.#root.querySelectorAll('input[name="check"]')].find((radio) => radio.value === value);
    if (radio) radio.checked = true;
  }

  #schemaText(schema) {
    return schema ? JSON.stringify(schema, null, 2) : "";
  }

  #show() {
    const isSent = this.#isSent;
    const prompt = this.#prompt;
    const shown = isSent ? "others" : this.#isFile ? "file" : "recorded";
    for (const part of this.#root.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== shown;
    this.#field.prompt.closest(".field").hidden = !isSent || prompt !== undefined;
    this.#field.text.closest(".field").hidden = !isSent;
    setText(this.#root.querySelector('label[for="text"]'), prompt ? "Text" : "Text (optional)");
    // The schema of a built-in prompt, unless the user has written one.
    const schema = this.#schemaText(isSent ? prompt?.schema : null);
    if (schema !== this.#schemaOfPrompt && ["", this.#schemaOfPrompt].includes(this.#field.schema.value)) {
      this.#field.schema.value = schema;
      if (this.#checkWith !== "tools") this.#choose(schema ? "schema" : "none");
      // The prompt says what the records are.
      this.#field["send-schema"].value = schema ? "none" : "prompt";
    }
    this.#schemaOfPrompt = schema;
    this.#field["send-schema"].closest(".field").hidden = !isSent || this.#checkWith !== "schema";
    setText(this.#root.querySelector("#send-schema-note"), this.#schemaNote(prompt));
    this.#field.schema.closest(".field").hidden = this.#checkWith !== "schema";
    this.#field.tools.closest(".field").hidden = this.#checkWith !== "tools";
    this.#field["call-format"].closest(".field").hidden = !isSent || this.#checkWith !== "tools";
    const provider = this.#provider;
    const reason = this.#root.querySelector("#provider-note");
    reason.hidden = !provider || provider.ready;
    setText(reason, provider?.ready === false ? `Not ready: ${provider.reason}.` : "");
    const models = provider?.models ?? [];
    const model = models.find(({ name }) => name === this.#field.recording.value);
    const hint = this.#root.querySelector("#recording-hint");
    setText(hint, model?.hint ?? "");
    hint.hidden = !model?.hint;
    this.#showSliders();
  }

  #schemaNote(prompt) {
    switch (this.#field["send-schema"].value) {
      case "response_format":
        return 'The provider is asked to hold the model to it. The response is one object, {"items": [...]}; each item is a record.';
      case "prompt":
        return "The model is asked for JSON Lines that match it.";
      default:
        return prompt ? "The prompt describes the records." : "The model is not told: the schema only checks its records.";
    }
  }

  // Asked when the field gets the focus, once for each server.
  async #listModels() {
    const body = JSON.stringify({ provider: this.#field.provider.value, ...this.server });
    if (!this.#isSent || this.#modelsOf === body) return;
    this.#modelsOf = body;
    const note = this.#root.querySelector("#models-note");
    const show = (names, text) => {
      if (this.#modelsOf !== body) return;
      this.#root.querySelector("#models").replaceChildren(...names.map((name) => el("option", { value: name })));
      setText(note, text);
      note.hidden = text === "";
    };
    show([], "");
    try {
      const response = await fetch("/api/models", { method: "POST", headers: { "content-type": "application/json" }, body });
      const { models, error } = await response.json();
      if (models) show(models.slice(0, 500), models.length === 0 ? "" : `${plural(models.length, "model")} on the server.`);
      else show([], `The server's models are not known: ${error}.`);
    } catch {
      show([], "");
    }
  }

  #showSliders() {
    const delay = Number(this.#field.delay.value);
    const chunk = Number(this.#field.chunk.value);
    this.#slider("delay", delay === 0 ? "as fast as possible" : `${delay} ms`);
    this.#slider("chunk", chunk === 0 ? "one event" : chunk === 1 ? "1 byte" : `${chunk} bytes`);
  }

  #slider(name, text) {
    setText(this.#root.querySelector(`#${name}-value`), text);
    this.#field[name].setAttribute("aria-valuetext", text);
  }

  #checkNeeded() {
    if (this.#isRecorded) return true;
    if (this.#isFile) return this.#content !== null || this.#report("file", "Choose a file, or drop one on the page.");
    const prompt = this.#prompt;
    if (!prompt) return this.#report("prompt", this.#field.prompt.value.trim() === "" ? "Enter a prompt." : "");
    return this.#report("text", this.#field.text.value.trim() === "" ? "Enter a text." : "");
  }

  #checkModel() {
    return this.#report("model", this.#field.model.value.trim() === "" ? "Enter the name of a model." : "");
  }

  #check(name) {
    const field = this.#field[name];
    if (name === "max-tokens") {
      const isWrong = !field.validity.valid || (field.value !== "" && !/^[1-9]\d*$/.test(field.value));
      return this.#report(name, isWrong ? "Enter a whole number above zero, or nothing." : "");
    }
    if (name === "temperature") return this.#report(name, field.validity.valid ? "" : "Enter a number from zero, or nothing.");
    if (name === "seed") {
      const isWrong = !field.validity.valid || (field.value !== "" && !/^\d+$/.test(field.value));
      return this.#report(name, isWrong ? "Enter a whole number from zero, or nothing." : "");
    }
    if (name === "set") return this.#report(name, field.value.trim() === "" ? "" : problemOfObject(field.value));
    return this.#report(name, name === "schema" ? problemOfSchema(field.value) : problemOfTools(field.value));
  }

  #report(name, problem) {
    const field = this.#root.querySelector(`#${name}`);
    const place = this.#root.querySelector(`#${name}-error`);
    setText(place, problem);
    place.hidden = problem === "";
    if (problem === "") field.removeAttribute("aria-invalid");
    else field.setAttribute("aria-invalid", "true");
    return problem === "";
  }
}
