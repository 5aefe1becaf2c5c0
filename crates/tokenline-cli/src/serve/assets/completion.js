// What can stand at the caret of a JSON Schema (draft 2020-12) or of tool definitions.

import { tree, unquoted } from "./json-tree.js";

const MAX_ITEMS = 60;

// Keywords: what their value is, and the type of the instances that they concern.
const KEYWORDS = {
  type: ["type", ""],
  description: ["text", ""],
  enum: ["values", ""],
  const: ["any value", ""],
  properties: ["schemas by name", "object"],
  required: ["names", "object"],
  additionalProperties: ["schema", "object"],
  items: ["schema", "array"],
  minItems: ["number", "array"],
  maxItems: ["number", "array"],
  uniqueItems: ["true or false", "array"],
  format: ["format", "string"],
  minLength: ["number", "string"],
  maxLength: ["number", "string"],
  pattern: ["regular expression", "string"],
  minimum: ["number", "number"],
  maximum: ["number", "number"],
  exclusiveMinimum: ["number", "number"],
  exclusiveMaximum: ["number", "number"],
  multipleOf: ["number", "number"],
  $ref: ["reference", ""],
  $defs: ["schemas by name", ""],
  title: ["text", ""],
  default: ["any value", ""],
  examples: ["values", ""],
  anyOf: ["list of schemas", ""],
  oneOf: ["list of schemas", ""],
  allOf: ["list of schemas", ""],
  not: ["schema", ""],
  if: ["schema", ""],
  then: ["schema", ""],
  else: ["schema", ""],
  prefixItems: ["list of schemas", "array"],
  contains: ["schema", "array"],
  minContains: ["number", "array"],
  maxContains: ["number", "array"],
  unevaluatedItems: ["schema", "array"],
  patternProperties: ["schemas by pattern", "object"],
  propertyNames: ["schema", "object"],
  minProperties: ["number", "object"],
  maxProperties: ["number", "object"],
  dependentRequired: ["names by name", "object"],
  dependentSchemas: ["schemas by name", "object"],
  unevaluatedProperties: ["schema", "object"],
  contentEncoding: ["text", "string"],
  contentMediaType: ["text", "string"],
  contentSchema: ["schema", "string"],
  deprecated: ["true or false", ""],
  readOnly: ["true or false", ""],
  writeOnly: ["true or false", ""],
  $schema: ["dialect", ""],
  $id: ["text", ""],
  $anchor: ["text", ""],
  $dynamicAnchor: ["text", ""],
  $dynamicRef: ["reference", ""],
  $vocabulary: ["true or false by name", ""],
  $comment: ["text", ""],
};
// The members of a tool in all shapes that providers use.
const ANY_TOOL = {
  name: ["text", ""],
  description: ["text", ""],
  parameters: ["schema", ""],
  strict: ["true or false", ""],
  type: ["function", ""],
  function: ["tool", ""],
  input_schema: ["schema", ""],
};

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const FORMATS = [
  "date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri",
  "uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer", "regex",
];

// What the value of a new member begins with. The caret goes inside.
const STUBS = {
  "schema": "{}", "schemas by name": "{}", "schemas by pattern": "{}", "names by name": "{}", "true or false by name": "{}",
  "tool": "{}", "list of schemas": "[]", "names": "[]", "values": "[]", "text": '""', "type": '""', "format": '""',
  "reference": '""', "dialect": '""', "regular expression": '""', "function": '""',
};

const definition = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

/**
 * What can be written at the caret: {from, to, prefix, items}, or null. An item, {label, detail, text, caret}, replaces
 * the text from `from` to `to`; `caret` is where the caret stands afterwards, in `text`. `kind` is "schema" or "tools".
 */
export function complete(text, caret, kind) {
  const { root, here } = tree(text, caret);
  if (here.expects === "nothing") return null;
  const path = pathTo(here.container);
  const token = here.token ?? { kind: "none", start: caret, end: caret };
  // A name that is being typed before another one would take the other's quote for its own.
  if (here.expects === "name") token.end = Math.min(token.end, /[^\s"{}[\],:]*"?/y.exec(text.slice(caret, token.end))[0].length + caret);
  const prefix = text.slice(token.start, caret).replace(/^"/, "");
  const place = { ...here, token, path, meaning: meaningOf(path, kind) };
  const all = here.expects === "name" ? names(text, place) : values(text, place, kind, root === null);
  const items = matching(all, prefix).slice(0, MAX_ITEMS);
  if (items.length === 0) return null;
  // What is there already needs no suggestion.
  const written = token.kind === "string" ? unquoted(text, token.start, token.end) : text.slice(token.start, token.end);
  if (items.length === 1 && items[0].label === written) return null;
  return { from: token.start, to: token.end, prefix, items };
}

/** The nodes from the root to this one. */
function pathTo(node) {
  const path = [];
  for (let at = node; at !== null; at = at.parent) path.push(at);
  return path.reverse();
}

/** What the last node of the path is: "schema", "tools", or what the tables say of a value; "" if that is unknown. */
function meaningOf(path, kind) {
  return path.slice(1).reduce((meaning, { at }) => inside(meaning, at), kind);
}

// The meaning of the member or element `at` of a container.
function inside(meaning, at) {
  switch (meaning) {
    case "tools":
      return "tool";
    case "tool":
      return definition(ANY_TOOL, at)?.[0] ?? "";
    case "schema":
      return definition(KEYWORDS, at)?.[0] ?? (at === "definitions" ? "schemas by name" : "");
    case "schemas by name":
    case "schemas by pattern":
    case "list of schemas":
      return "schema";
    case "names":
      return "name";
    case "type":
      return "type"; // one of a list of types
    default:
      return "";
  }
}

function names(text, { container, meaning, token }) {
  const table = meaning === "schema" ? KEYWORDS : meaning === "tool" ? toolMembers(container) : {};
  const own = token.kind === "string" ? unquoted(text, token.start, token.end) : null;
  const after = text.slice(token.end, token.end + 1000).trimStart();
  const types = typesOf(text, container);
  const free = Object.entries(table).filter(([key]) => key === own || !container.members.has(key));
  const fits = ([, [, type]]) => type === "" || types.length === 0 || types.includes(type);
  return [...free.filter(fits), ...free.filter((entry) => !fits(entry))].map(([key, [detail]]) => {
    const name = JSON.stringify(key);
    if (after.startsWith(":")) return { label: key, detail, text: name, caret: name.length };
    const stub = definition(STUBS, detail) ?? "";
    const comma = stub !== "" && after.startsWith('"') ? "," : "";
    return { label: key, detail, text: `${name}: ${stub}${comma}`, caret: name.length + 2 + Math.min(stub.length, 1) };
  });
}

// OpenAI's chat API wraps a tool in `function`, and Anthropic says `input_schema`: only what fits the members so far.
function toolMembers({ members, at }) {
  const { type, function: wrapped, input_schema, ...plain } = ANY_TOOL;
  if (at === "function") return plain;
  if (members.has("function")) return { type, function: wrapped };
  if (members.has("input_schema")) return { name: plain.name, description: plain.description, input_schema };
  if (members.has("parameters")) return { ...plain, type };
  return members.has("name") ? { ...plain, type, input_schema } : ANY_TOOL;
}

// The types that a schema allows, "integer" as "number".
function typesOf(text, { members }) {
  const type = members.get("type");
  const nodes = type?.kind === "array" ? type.elements : type?.kind === "string" ? [type] : [];
  return nodes.map(({ start, end }) => unquoted(text, start, end)).map((name) => (name === "integer" ? "number" : name));
}

function values(text, place, kind, isFirst) {
  const { container, key, token, path } = place;
  const meaning = container === null ? kind : inside(place.meaning, key);
  const texts = (list) => list.map((label) => item(label, JSON.stringify(label)));
  const words = (...list) => (token.kind === "string" ? [] : list.map((label) => item(label, label)));
  // In a list, each once.
  const once = (list) => {
    const others = (container.elements ?? []).filter(({ start }) => start !== token.start);
    const used = new Set(others.map(({ start, end }) => unquoted(text, start, end)));
    return texts(list.filter((label) => !used.has(label)));
  };
  if (container === null && !isFirst) return [];
  switch (meaning) {
    case "type":
      return once(TYPES);
    case "name":
      return once(propertiesBeside(container));
    case "format":
      return texts(FORMATS);
    case "reference":
      return texts(references(path, kind));
    case "dialect":
      return texts(["https://json-schema.org/draft/2020-12/schema"]);
    case "function":
      return texts(["function"]);
    case "true or false":
      return words("true", "false");
    case "schema":
      if (!["additionalProperties", "unevaluatedProperties", "unevaluatedItems"].includes(key)) return words("{}");
      return words("false", "true", "{}");
    case "tools":
      return words("[{}]");
    default:
      return STUBS[meaning] === "{}" || STUBS[meaning] === "[]" ? words(STUBS[meaning]) : [];
  }
}

// The caret goes into the innermost brackets.
function item(label, text) {
  const inside = text.startsWith('"') ? -1 : text.search(/[}\]]/);
  return { label, detail: "", text, caret: inside < 0 ? text.length : inside };
}

/** The names of the properties beside a list `required`. */
function propertiesBeside({ parent }) {
  const properties = parent?.members?.get("properties");
  return properties?.kind === "object" ? [...properties.members.keys()] : [];
}

/** References to the definitions of the schema that a node is in: the whole text, or the parameters of one tool. */
function references(path, kind) {
  const isParameters = ({ at, kind }) => kind === "object" && (at === "parameters" || at === "input_schema");
  const root = kind === "tools" ? path.find(isParameters) : path[0];
  const found = [];
  for (const list of ["$defs", "definitions"]) {
    const definitions = root?.members?.get(list);
    if (definitions?.kind !== "object") continue;
    for (const name of definitions.members.keys()) found.push(`#/${list}/${fragment(name)}`);
  }
  return [...found, "#"];
}

// JSON Pointer (RFC 6901, section 6): as a URI fragment.
const fragment = (name) => {
  const pointer = name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
  return encodeURI(pointer).replaceAll("#", "%23");
};

/** Items that begin with the prefix, then those that have it inside. */
function matching(items, prefix) {
  const wanted = prefix.toLowerCase();
  const begins = ({ label }) => label.toLowerCase().startsWith(wanted);
  const has = (item) => !begins(item) && wanted.length > 1 && item.label.toLowerCase().includes(wanted);
  return [...items.filter(begins), ...items.filter(has)];
}
