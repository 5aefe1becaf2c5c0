// A run as a program: from the server's preview of its request, and the form's choices, to text. No DOM. A key is only
// ever the name of its environment variable.

import { members, pretty } from "./json.js";

// One argument of a program may have 128 KiB on Linux.
const MAX_ARGUMENT = 100_000;
const MAX_LINE = 110; // of Rust code
const MAX_PRETTY = 2_000_000;
// The files of the scripts. A folder rarely has others of these names.
const SCHEMA_FILE = "tokenline-schema.json";
const TOOLS_FILE = "tokenline-tools.json";
const MESSAGES_FILE = "tokenline-messages.json";

/** The form's choices, from the body it sends to the server: the JSON text of each member. */
export function choicesOf(body) {
  const raw = new Map(members(body, 100));
  const value = (name) => (raw.has(name) ? JSON.parse(raw.get(name)) : undefined);
  return {
    schema: raw.get("schema"),
    tools: raw.get("tools"),
    callFormat: value("call_format"),
    sendsSchema: value("send_schema") === "response_format",
    maxTokens: raw.get("max_tokens"),
    temperature: raw.get("temperature"),
    seed: raw.get("seed"),
    set: members(raw.get("set") ?? "{}", 100),
    reask: value("reask") ?? 0,
    repairs: value("repair") === true,
    stopsOnRepetition: value("stop_on_repetition") === true,
    hasOwnServer: (value("base_url") ?? "").trim() !== "",
  };
}

/** The request as it is sent: its head, and its body for people. */
export function requestText({ method, url, headers, body }) {
  const head = [`${method} ${url}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return `${head.join("\n")}\n\n${pretty(body, MAX_PRETTY)}`;
}

// Shell

/** A word of a POSIX shell. */
export function shellWord(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A word in which `$VARIABLE` is expanded, and nothing else. */
function shellWordWith(text, variable) {
  const mark = variable ? `$${variable}` : "";
  if (!mark || !text.includes(mark)) return shellWord(text);
  // Nothing else in it is special between double quotes.
  if (/^[\w @%+=:,./;()-]*$/.test(text.replaceAll(mark, ""))) return `"${text}"`;
  return text.split(mark).map((part) => (part === "" ? "" : shellWord(part))).join(`"${mark}"`);
}

/** A text as a here-document, and the line feed that ends it. Its delimiter is no line of the text. */
export function hereDocument(text) {
  const lines = new Set(text.split("\n"));
  let delimiter = "EOF";
  for (let number = 1; lines.has(delimiter); number += 1) delimiter = `EOF_${number}`;
  return [`<<'${delimiter}'`, `${text}\n${delimiter}\n`];
}

const file = (name, text) => {
  const [operator, document] = hereDocument(text);
  return `cat > ${name} ${operator}\n${document}\n`;
};

// A value that begins with a hyphen would be read as an option.
const option = (name, value) => (value.startsWith("-") ? `--${name}=${shellWord(value)}` : `--${name} ${shellWord(value)}`);

const isLong = (text) => new TextEncoder().encode(text).length > MAX_ARGUMENT;

const keyComment = (variable) => (variable ? `# The API key is in the environment variable ${variable}.\n` : "");

const URL_SECRET = "A part of the URL may be a secret and is left out: put it in.";
const urlComment = ({ hides_part_of_url: isPart }) => (isPart ? `# ${URL_SECRET}\n` : "");

/** The options that say how a response is read, and the files that they name. */
function readingOptions(items, choices) {
  let files = "";
  const words = [];
  if (choices.schema) {
    files += file(SCHEMA_FILE, choices.schema);
    words.push(`--schema ${SCHEMA_FILE}`);
  }
  if (items) words.push(option("items", items));
  if (choices.tools) {
    files += file(TOOLS_FILE, choices.tools);
    words.push(`--tools ${TOOLS_FILE} --emit tool-calls`);
    if (choices.callFormat) words.push(option("call-format", choices.callFormat));
  }
  if (choices.repairs) words.push("--repair");
  if (choices.stopsOnRepetition) words.push("--stop-on-repetition");
  return { files, words };
}

const PIPE_COMMENT = "# Without `| tokenline parse ...`, curl shows the stream as the provider sends it.\n";
const TEXT_CALLS_COMMENT = "# It also reads calls in the text. `tokenline extract` reads those of the provider's API only.\n";
const NO_REASK_COMMENT = "# This does not ask again for rejected records. `tokenline extract --reask` does.\n";

/** The request, and its response read as the page reads it. */
export function curl(request, choices) {
  const { provider, method, url, headers, body, items, key_variable: variable } = request;
  const [operator, document] = hereDocument(body);
  const reading = readingOptions(items, choices);
  const parse = [`tokenline parse ${option("from", provider)}`, ...reading.words].join(" ");
  const words = ["curl --silent --show-error --no-buffer --fail-with-body"];
  // Brackets and braces in a URL would be patterns.
  if (/[[\]{}]/.test(url)) words[0] += " --globoff";
  if (method !== "POST") words[0] += ` --request ${shellWord(method)}`;
  words.push(shellWord(url));
  for (const [name, value] of headers) words.push(`--header ${shellWordWith(`${name}: ${value}`, variable)}`);
  words.push(`--data-binary @- ${operator} | ${parse}`);
  let comments = keyComment(variable) + urlComment(request) + PIPE_COMMENT;
  if (choices.tools && !choices.callFormat) comments += TEXT_CALLS_COMMENT;
  if (choices.reask > 0) comments += NO_REASK_COMMENT;
  return reading.files + comments + words.join(" \\\n  ") + "\n" + document;
}

/** `tokenline extract` with the options of the form. */
export function extract(request, choices) {
  const { provider, model, prompt, system, items, base_url: baseUrl, key_variable: variable, key_variables: keyVariables } = request;
  if (`${prompt}${system ?? ""}`.includes("\0")) return "# The prompt has a NUL character, which no program can be given as an argument.\n";
  let files = "";
  let input = "";
  const unset = choices.hasOwnServer && !variable ? keyVariables : [];
  const command = [unset.length > 0 ? "env" : "", ...unset.map((name) => `-u ${name}`), "tokenline extract"];
  const words = [`${command.filter(Boolean).join(" ")} ${option("provider", provider)} ${option("model", model)}`];
  if (baseUrl) words.push(option("base-url", baseUrl));
  if (system && isLong(system)) {
    files += file(MESSAGES_FILE, JSON.stringify([{ role: "system", content: system }]));
    words.push(`--messages ${MESSAGES_FILE}`);
  } else if (system) {
    words.push(option("system", system));
  }
  if (isLong(prompt) || prompt === "-") {
    // printf is part of the shell: what it writes may be long.
    input = `printf %s ${shellWord(prompt)} | `;
    words.push("--prompt -");
  } else {
    words.push(option("prompt", prompt));
  }
  if (choices.schema && choices.sendsSchema) words.push("--response-format schema");
  for (const [name, value] of [["max-tokens", choices.maxTokens], ["temperature", choices.temperature], ["seed", choices.seed]]) {
    if (value !== undefined) words.push(option(name, value));
  }
  for (const [name, value] of choices.set) words.push(option("set", `${name}=${value}`));
  if (choices.reask > 0) words.push(option("reask", `${choices.reask}`));
  const reading = readingOptions(items, choices);
  files += reading.files;
  words.push(...reading.words);
  return files + keyComment(variable) + urlComment(request) + input + words.join(" \\\n  ") + "\n";
}

// Python

// The escapes of JSON are those of Python.
const pythonString = (text) => JSON.stringify(text);

/** JSON as a raw Python string: three quotation marks in a row are in no JSON text. */
function pythonJson(json) {
  const text = json.trim();
  return text.includes('"""') || text.includes("\r") || !/[\]}]$/.test(text) ? pythonString(text) : `r"""${text}"""`;
}

function pythonHeader(value, variable) {
  const parts = variable ? value.split(`$${variable}`) : [value];
  const texts = parts.map((part) => (part === "" ? null : pythonString(part)));
  const key = `os.environ[${pythonString(variable ?? "")}]`;
  return texts.flatMap((text, at) => [...(at > 0 ? [key] : []), ...(text ? [text] : [])]).join(" + ") || '""';
}

// What a conversation is called in a request, and how its turns are written.
const ROLES = { turns: "messages", turn: (isUser, text) => `{"role": "${isUser ? "user" : "assistant"}", "content": ${text}}` };
const CONVERSATIONS = {
  "openai-responses": { ...ROLES, turns: "input" },
  gemini: { turns: "contents", turn: (isUser, text) => `{"role": "${isUser ? "user" : "model"}", "parts": [{"text": ${text}}]}` },
  "gemini-interactions": {
    turns: "input",
    turn: (isUser, text) => `{"type": "${isUser ? "user_input" : "model_output"}", "content": [{"type": "text", "text": ${text}}]}`,
  },
  bedrock: { ...ROLES, turn: (isUser, text) => `{"role": "${isUser ? "user" : "assistant"}", "content": [{"text": ${text}}]}` },
};

/** A function for `reask`: it sends the request once more, with what was rejected and the reason. */
function pythonReask(provider, hasTools) {
  const { turns, turn } = CONVERSATIONS[provider] ?? ROLES;
  const ask = hasTools
    ? 'f"This tool call was not run: {reject.for_model}\\n\\nCall the tool again, corrected."'
    : 'f"This record was rejected: {reject.for_model}\\n\\nWrite this one record again, corrected, and nothing else."';
  const out = [
    "def ask_again(reject):",
    '    """Asks the model again for what was rejected, and returns its response."""',
    `    text = ${ask}`,
    "    body = json.loads(BODY)",
    `    body["${turns}"] += [`,
    `        ${turn(false, hasTools ? "reject.received" : "reject.text")},`,
    `        ${turn(true, "text")},`,
    "    ]",
    "    request = urllib.request.Request(URL, json.dumps(body).encode(), HEADERS)",
    "    with urllib.request.urlopen(request) as response:",
  ];
  out.push(`        events = list(tokenline.responses(response, provider=${pythonString(provider)}, text_as="text"))`);
  if (hasTools) {
    out.push("    for event in events:", "        if isinstance(event, tokenline.ToolCall):", "            return event.raw_parameters");
  }
  out.push('    return "".join(event.text for event in events if isinstance(event, tokenline.Text))');
  return out;
}

export function python(request, choices) {
  const { provider, url, headers, body, items, key_variable: variable } = request;
  const asksAgain = choices.reask > 0;
  const settings = [`provider=${pythonString(provider)}`];
  if (choices.schema) settings.push("schema=SCHEMA");
  if (items) settings.push(`items=${pythonString(items)}`);
  if (choices.repairs) settings.push("repair_syntax=True");
  if (choices.stopsOnRepetition) settings.push("stop_on_repetition=True");
  if (asksAgain) settings.push("reask=ask_again");
  if (choices.reask > 1) settings.push(`reask_attempts=${choices.reask}`);
  const usesKey = variable && headers.some(([, value]) => value.includes(`$${variable}`));
  const imports = [...(asksAgain ? ["import json"] : []), ...(usesKey ? ["import os"] : []), "import urllib.request"];
  const out = [...imports, "", "import tokenline", ""];
  if (usesKey) out.push(`# The API key is in the environment variable ${variable}.`);
  if (urlComment(request)) out.push(urlComment(request).trimEnd());
  out.push(`URL = ${pythonString(url)}`, "HEADERS = {");
  for (const [name, value] of headers) out.push(`    ${pythonString(name)}: ${pythonHeader(value, variable)},`);
  out.push("}", `BODY = ${pythonJson(pretty(body, MAX_PRETTY).length < MAX_PRETTY ? pretty(body, MAX_PRETTY) : body)}`);
  if (choices.schema) out.push(`SCHEMA = ${pythonJson(choices.schema)}`);
  if (choices.tools) out.push(`TOOLS = ${pythonJson(choices.tools)}`);
  if (asksAgain) out.push("", "", ...pythonReask(provider, Boolean(choices.tools)), "");
  out.push("", "request = urllib.request.Request(URL, BODY.encode(), HEADERS)", "with urllib.request.urlopen(request) as response:");
  if (choices.tools) {
    const more = settings.slice(1).filter((setting) => !setting.startsWith("schema="));
    const mode = choices.callFormat ? `call_format=${pythonString(choices.callFormat)}` : 'text_as="native_calls"';
    out.push(`    events = tokenline.responses(${["response", settings[0], "tools=TOOLS", mode, ...more].join(", ")})`);
    out.push("    for event in events:", "        if isinstance(event, tokenline.ToolCall):", "            print(event.name, event.parameters)");
    out.push("for reject in events.report.rejects:", "    print(reject)");
  } else {
    out.push(`    records = tokenline.records(${["response", ...settings].join(", ")})`);
    out.push("    for record in records:", "        print(record)", "for reject in records.report.rejects:", "    print(reject)");
  }
  return out.join("\n") + "\n";
}

// Rust

// Controls that reorder text are an error in Rust, and so is a bare carriage return in a raw string.
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A Rust string: as it is, raw, or with escapes. */
export function rustString(text) {
  UNPRINTABLE.lastIndex = 0;
  if (UNPRINTABLE.test(text) || /\t/.test(text)) {
    const escaped = text.replace(/["\\]/g, "\\$&").replace(UNPRINTABLE, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
    return `"${escaped.replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
  }
  if (!/["\\\n]/.test(text)) return `"${text}"`;
  let hashes = "#".repeat(/"/.test(text) ? 1 : 0);
  while (text.includes(`"${hashes}`) && hashes !== "") {
    hashes += "#";
    if (hashes.length > 255) return JSON.stringify(text); // Rust's limit
  }
  return `r${hashes}"${text}"${hashes}`;
}

const rustProvider = (name) =>
  name.split("-").map((word) => (word === "openai" ? "OpenAi" : word.charAt(0).toUpperCase() + word.slice(1))).join("");

// A float has a point or an exponent.
const rustFloat = (literal) => (/[.eE]/.test(literal) ? literal : `${literal}.0`);

/** Imports, as rustfmt breaks them. */
function rustImports(names) {
  const line = `use tokenline::{${names.join(", ")}};`;
  if (line.length <= MAX_LINE) return [line];
  const lines = ["   "];
  for (const name of names) {
    if (lines.at(-1).length + name.length + 2 > MAX_LINE) lines.push("   ");
    lines[lines.length - 1] += ` ${name},`;
  }
  return ["use tokenline::{", ...lines, "};"];
}

export function rust(request, choices) {
  const { provider, model, prompt, system, items, base_url: baseUrl, key_variable: variable } = request;
  const { schema, tools, callFormat } = choices;
  const readsText = tools !== undefined && callFormat !== undefined;
  const sendsSchema = schema !== undefined && choices.sendsSchema;
  const imports = ["ChatRequest", "LlmClient", "Provider"];
  if (schema) imports.push("SchemaValidator");
  if (tools) imports.push("ToolSet", "TextMode");
  if (choices.reask > 0) imports.push("ReaskOptions");
  if (choices.repairs) imports.push("ResponseOptions");
  if (choices.stopsOnRepetition) imports.push("RepetitionLimits");
  if (readsText) imports.push("CallFormat", "Options");
  const out = ["//! A run of `tokenline serve` as a program."];
  if (variable) out.push(`//! The API key is in the environment variable ${variable}.`);
  if (urlComment(request)) out.push(`//! ${URL_SECRET}`);
  out.push("", "use std::error::Error;", "");
  if (sendsSchema) out.push("use tokenline::json::Raw;", "use tokenline::llm::request::JsonFormat;");
  out.push(...rustImports(imports.sort()), "");
  if (schema) out.push(`const SCHEMA: &str = ${rustString(schema)};`);
  if (tools) out.push(`const TOOLS: &str = ${rustString(tools)};`);
  if (system) out.push(`const SYSTEM: &str = ${rustString(system)};`);
  out.push(`const PROMPT: &str = ${rustString(prompt)};`, "");
  out.push('#[tokio::main(flavor = "current_thread")]', "async fn main() -> Result<(), Box<dyn Error>> {");
  const line = (text) => out.push(`    ${text}`);
  const named = `Provider::${rustProvider(provider)}`;
  if (choices.hasOwnServer && !variable) {
    line(`let client = LlmClient::builder(${named}).base_url(${rustString(baseUrl)}).without_api_key().build()?;`);
  } else {
    line(`let client = LlmClient::${baseUrl ? `new(${named}, ${rustString(baseUrl)})` : `from_env(${named})`}?;`);
  }
  line(`let request = ChatRequest::new(${rustString(model)})${system ? ".system(SYSTEM)" : ""}.user(PROMPT);`);
  if (tools) line("let request = request.tools(ToolSet::from_json_str(TOOLS)?);");
  const settings = [];
  if (choices.maxTokens !== undefined) settings.push(`max_tokens(${choices.maxTokens})`);
  if (choices.temperature !== undefined) settings.push(`temperature(${rustFloat(choices.temperature)})`);
  if (choices.seed !== undefined) settings.push(`seed(${choices.seed})`);
  if (settings.length > 0) line(`let request = request.${settings.join(".")};`);
  for (const [name, value] of choices.set) {
    line(`let value: serde_json::Value = serde_json::from_str(${rustString(value)})?;`);
    line(`let request = request.extra(${rustString(name)}, value);`);
  }
  if (sendsSchema) {
    line(`let format = JsonFormat::list("answer", &Raw::new(SCHEMA)?, ${rustString(items)});`);
    line("let request = request.response_format(format);");
  }
  const options = [];
  if (schema) {
    line("let schema: SchemaValidator = SCHEMA.parse()?;");
    options.push("validator(schema)");
  }
  if (readsText) {
    line(`let format = CallFormat::from_name(${rustString(callFormat)}).ok_or("no such call format")?;`);
    options.push("parse_text(Options::lenient().calls(format))", "text_as(TextMode::ToolCalls)");
  } else if (tools) {
    options.push("text_as(TextMode::NativeCalls)");
  }
  if (choices.stopsOnRepetition) options.push("stop_on_repetition(RepetitionLimits::default())");
  line("let response = client.stream(&request)?;");
  if (choices.repairs) line("let response = response.with_options(ResponseOptions::repair_syntax);");
  for (const its of options) line(`let response = response.with_options(|options| options.${its});`);
  if (choices.reask > 0) line(`let response = response.reask(&request, ReaskOptions::new(${choices.reask}));`);
  const [one, all] = tools ? ["call", "calls"] : ["record", "records"];
  line(`let mut ${all} = response.send().await?.${tools ? "tool_calls" : "records"}();`);
  line(`while let Some(${one}) = ${all}.next().await {`);
  if (tools) {
    line("    let call = call?;");
    line('    println!("{} {}", call.name, call.parameters);');
  } else {
    line('    println!("{}", record?.value);');
  }
  line("}");
  line(`eprintln!("{} rejected", ${all}.report().rejected());`);
  line("Ok(())");
  out.push("}");
  return out.join("\n") + "\n";
}
