// The form: what to ask for, checked before it is sent.

import { el, setText } from "./dom.js";
import { problemOfSchema, problemOfTools } from "./checks.js";

const FIELDS = [
  "provider", "recording", "model", "prompt-id", "prompt", "text", "system", "max-tokens", "schema", "tools", "call-format",
  "delay", "chunk",
];

export class Form {
  #root;
  #options = { providers: [], prompts: [] };
  #field = {};
  #schemaOfPrompt = ""; // what was filled in for a built-in prompt

  constructor(root) {
    this.#root = root;
    for (const name of FIELDS) this.#field[name] = root.querySelector(`#${name}`);
    root.addEventListener("change", () => this.#show());
    root.addEventListener("input", () => this.#showSliders());
    for (const name of ["schema", "tools", "max-tokens"]) {
      this.#field[name].addEventListener("blur", () => this.#check(name));
    }
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
    for (const [name, value] of Object.entries(values ?? {})) {
      if (name === "check") this.#choose(value);
      else if (FIELDS.includes(name)) this.#field[name].value = value;
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
    for (const name of FIELDS) values[name] = this.#field[name].value;
    return values;
  }

  /** The body of the request as JSON text; null if a field is wrong, which is then said and focused. */
  body() {
    const used = ["max-tokens"];
    if (this.#checkWith !== "none") used.push(this.#checkWith);
    const wrong = used.filter((name) => !this.#check(name));
    if (!this.#checkNeeded()) wrong.unshift(this.#prompt ? "text" : "prompt");
    if (!this.#isRecorded && !this.#checkModel()) wrong.unshift("model");
    if (wrong.length > 0) {
      const field = this.#field[wrong[0]];
      const details = field.closest("details");
      if (details) details.open = true;
      field.focus();
      return null;
    }
    // Schema and tools go as they were written: parsing them would change number literals.
    const members = [];
    const add = (name, value) => members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    const value = (name) => this.#field[name].value;
    add("provider", value("provider"));
    add("model", this.#isRecorded ? value("recording") : value("model").trim());
    if (this.#isRecorded) {
      add("recording", { delay_ms: Number(value("delay")), chunk_size: Number(value("chunk")) });
    } else {
      if (this.#prompt) add("prompt_id", this.#prompt.id);
      else add("prompt", value("prompt"));
      if (value("text").trim() !== "") add("text", value("text"));
      if (value("system").trim() !== "") add("system", value("system"));
      if (value("max-tokens") !== "") add("max_tokens", Number(value("max-tokens")));
    }
    const checkWith = this.#checkWith;
    if (checkWith === "tools" && !this.#isRecorded && value("call-format") !== "") add("call_format", value("call-format"));
    if (checkWith !== "none") members.push(`"${checkWith}":${value(checkWith)}`);
    return `{${members.join(",")}}`;
  }

  get #provider() {
    return this.#options.providers.find(({ name }) => name === this.#field.provider.value);
  }

  get #isRecorded() {
    return this.#field.provider.value === "recorded";
  }

  get #prompt() {
    const id = this.#field["prompt-id"].value;
    return id === "" ? undefined : this.#options.prompts.find((prompt) => prompt.id === id);
  }

  get #checkWith() {
    return this.#root.querySelector('input[name="check"]:checked').value;
  }

  #choose(value) {
    for (const radio of this.#root.querySelectorAll('input[name="check"]')) radio.checked = radio.value === value;
  }

  #schemaText(schema) {
    return schema ? JSON.stringify(schema, null, 2) : "";
  }

  #show() {
    const recorded = this.#isRecorded;
    const prompt = this.#prompt;
    for (const part of this.#root.querySelectorAll("[data-for]")) {
      part.hidden = (part.dataset.for === "recorded") !== recorded;
    }
    this.#field.prompt.closest(".field").hidden = recorded || prompt !== undefined;
    this.#field.text.closest(".field").hidden = recorded;
    setText(this.#root.querySelector('label[for="text"]'), prompt ? "Text" : "Text (optional)");
    // The schema of a built-in prompt, unless the user has written one.
    const schema = this.#schemaText(recorded ? null : prompt?.schema);
    if (schema !== this.#schemaOfPrompt && ["", this.#schemaOfPrompt].includes(this.#field.schema.value)) {
      this.#field.schema.value = schema;
      if (this.#checkWith !== "tools") this.#choose(schema ? "schema" : "none");
    }
    this.#schemaOfPrompt = schema;
    this.#field.schema.closest(".field").hidden = this.#checkWith !== "schema";
    this.#field.tools.closest(".field").hidden = this.#checkWith !== "tools";
    this.#field["call-format"].closest(".field").hidden = recorded || this.#checkWith !== "tools";
    const provider = this.#provider;
    const reason = this.#root.querySelector("#provider-note");
    reason.hidden = !provider || provider.ready;
    setText(reason, provider?.ready === false ? `Not ready: ${provider.reason}.` : "");
    const models = provider?.models ?? [];
    this.#root.querySelector("#models").replaceChildren(...models.map(({ name }) => el("option", { value: name })));
    const model = models.find(({ name }) => name === this.#field.recording.value);
    const hint = this.#root.querySelector("#recording-hint");
    setText(hint, model?.hint ?? "");
    hint.hidden = !model?.hint;
    this.#showSliders();
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
    return this.#report(name, name === "schema" ? problemOfSchema(field.value) : problemOfTools(field.value));
  }

  #report(name, problem) {
    const field = this.#field[name];
    const place = this.#root.querySelector(`#${name}-error`);
    setText(place, problem);
    place.hidden = problem === "";
    if (problem === "") field.removeAttribute("aria-invalid");
    else field.setAttribute("aria-invalid", "true");
    return problem === "";
  }
}
