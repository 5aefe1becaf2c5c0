// A JSON Schema of values that are there: what all of them have in common, and nothing that few of them suggest.

import { pretty } from "./json.js";
import { tree, unquoted } from "./json-tree.js";

const MAX_VALUES = 500;
const MAX_DEPTH = 8; // below, only the type is said
const MAX_PROPERTIES = 100;
const MAX_ELEMENTS = 100; // of one array
// An enum rejects all that was not seen: only for few short texts that come again and again.
const ENUM_VALUES = 8;
const ENUM_DISTINCT = 5;
const ENUM_LENGTH = 40;

const MAX_REMARKS = 50;
// A format that most of the strings have is meant for all of them.
const MOST = 0.75;

const TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"];

/**
 * The schema of JSON texts: {text, remarks}. `text` is JSON; `remarks` say where the values differ in kind, so that the
 * schema allows what may be a fault. The first 500 count.
 */
export function inferSchema(texts) {
  const shape = shapeOf(texts);
  const remarks = [];
  addRemarks(remarks, shape, "", "records");
  return { text: pretty(written(shape), Infinity), remarks };
}

/** Tool definitions for calls, `{"name", "parameters"}` each: {text, remarks}. */
export function inferTools(texts) {
  const tools = new Map();
  for (const text of texts.slice(0, MAX_VALUES)) {
    const members = tree(text).root?.members;
    const name = members?.get("name");
    const parameters = members?.get("parameters");
    if (name?.kind !== "string" || !parameters) continue;
    const key = unquoted(text, name.start, name.end);
    if (!tools.has(key)) tools.set(key, []);
    tools.get(key).push(text.slice(parameters.start, parameters.end));
  }
  const shapes = [...tools].map(([name, its]) => [name, shapeOf(its)]);
  const remarks = [];
  for (const [name, shape] of shapes) addRemarks(remarks, shape, name, name);
  const list = shapes.map(([name, shape]) => `{"name":${JSON.stringify(name)},"parameters":${written(shape)}}`);
  return { text: pretty(`[${list.join(",")}]`, Infinity), remarks };
}

/** Says what is not uniform: "total: 7 numbers, 2 strings", "date: missing in 1 of 9". `path` is "" at the top. */
function addRemarks(remarks, shape, path, name) {
  if (remarks.length >= MAX_REMARKS) return;
  const counts = shape.typeCounts;
  if (counts.length > 1) remarks.push(`${name}: ${counts.map(([type, count]) => counted(count, type)).join(", ")}`);
  const { strings, formats } = shape;
  const [format, fitting] = formats.toSorted(([, one], [, other]) => other - one)[0] ?? [];
  if (fitting < strings && fitting >= MOST * strings) {
    remarks.push(`${name}: ${fitting} of ${counted(strings, "string")} ${fitting === 1 ? "has" : "have"} the format ${format}`);
  }
  for (const [key, { count, shape: its }] of shape.properties) {
    const place = path === "" ? key : `${path}.${key}`;
    if (count < shape.objects && remarks.length < MAX_REMARKS) {
      remarks.push(`${place}: missing in ${shape.objects - count} of ${shape.objects}`);
    }
    addRemarks(remarks, its, place, place);
  }
  if (shape.elements) addRemarks(remarks, shape.elements, `${path}[]`, `${path}[]`);
}

const counted = (count, type) => `${count} ${type}${count === 1 || type === "null" ? "" : "s"}`;

function shapeOf(texts) {
  const shape = new Shape();
  for (const text of texts.slice(0, MAX_VALUES)) {
    const { root } = tree(text);
    if (root) shape.add(text, root, 0);
  }
  return shape;
}

/** What the values at one place have in common. */
class Shape {
  types = new Map(); // type: count
  objects = 0;
  properties = new Map(); // key: {shape, count}
  elements = null;
  strings = 0;
  distinct = new Map(); // text: count, until there are too many
  fitting = new Map(); // format: how many strings have it

  add(text, node, depth) {
    const type = typeOf(text, node);
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
    if (type === "string") this.#addString(unquoted(text, node.start, node.end));
    if (depth >= MAX_DEPTH) return;
    if (type === "object") {
      this.objects += 1;
      for (const [key, member] of node.members) this.#property(key)?.add(text, member, depth + 1);
    } else if (type === "array") {
      this.elements ??= new Shape();
      for (const element of node.elements.slice(0, MAX_ELEMENTS)) this.elements.add(text, element, depth + 1);
    }
  }

  #property(key) {
    let property = this.properties.get(key);
    if (!property) {
      if (this.properties.size === MAX_PROPERTIES) return null;
      property = { shape: new Shape(), count: 0 };
      this.properties.set(key, property);
    }
    property.count += 1;
    return property.shape;
  }

  #addString(value) {
    this.strings += 1;
    for (const [format, fits] of FORMATS) {
      if (fits(value)) this.fitting.set(format, (this.fitting.get(format) ?? 0) + 1);
    }
    if (this.distinct === null) return;
    this.distinct.set(value, (this.distinct.get(value) ?? 0) + 1);
    if (this.distinct.size > ENUM_DISTINCT || value.length > ENUM_LENGTH) this.distinct = null;
  }

  /** The few strings that all values are; null if there is no such list. */
  get choices() {
    if (this.distinct === null || this.strings < ENUM_VALUES || this.distinct.size < 2) return null;
    return [...this.distinct.values()].every((count) => count > 1) ? [...this.distinct.keys()] : null;
  }

  /** The formats of its strings: [format, how many have it]. */
  get formats() {
    return FORMATS.filter(([format]) => this.fitting.has(format)).map(([format]) => [format, this.fitting.get(format)]);
  }

  get typeNames() {
    return this.typeCounts.map(([type]) => type);
  }

  /** [type, count]. Each integer is a number. */
  get typeCounts() {
    const integers = this.types.get("integer") ?? 0;
    const counts = TYPES.filter((type) => this.types.has(type)).map((type) => [type, this.types.get(type)]);
    if (!this.types.has("number")) return counts;
    return counts.filter(([type]) => type !== "integer").map(([type, count]) => [type, type === "number" ? count + integers : count]);
  }
}

function typeOf(text, { kind, start, end }) {
  if (kind !== "scalar") return kind;
  const literal = text.slice(start, end);
  if (literal === "null") return "null";
  if (literal === "true" || literal === "false") return "boolean";
  // 1.0 is an integer to JSON Schema, but whoever writes it means a number.
  return /^-?\d+$/.test(literal) ? "integer" : "number";
}

const isDate = (text) => {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  // The engines let 30 February pass as 1 March.
  return date !== null && !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
};
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
const isDateTime = (text) => isDate(text.slice(0, 10)) && /^t$/i.test(text[10] ?? "") && TIME.test(text.slice(11));
const isEmail = (text) => text.length <= 254 && /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(\.[a-z\d-]+)+$/i.test(text);
const isUri = (text) => /^[a-z][a-z\d+.-]*:\/\/[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/i.test(text) && URL.canParse(text);
const FORMATS = [["date", isDate], ["date-time", isDateTime], ["email", isEmail], ["uri", isUri]];

/** The schema of a shape as compact JSON text. */
function written(shape) {
  const types = shape.typeNames;
  if (types.length === 0) return "{}";
  const members = [`"type":${JSON.stringify(types.length === 1 ? types[0] : types)}`];
  const { choices } = shape;
  const format = shape.formats.find(([, count]) => count === shape.strings)?.[0];
  if (choices && types.every((type) => type === "string" || type === "null")) {
    if (types.includes("null")) choices.push(null);
    members.push(`"enum":${JSON.stringify(choices)}`);
  } else if (shape.strings > 1 && format) {
    members.push(`"format":${JSON.stringify(format)}`);
  }
  if (shape.properties.size > 0) {
    const properties = [...shape.properties];
    const required = properties.filter(([, { count }]) => count === shape.objects).map(([key]) => key);
    members.push(`"properties":{${properties.map(([key, its]) => `${JSON.stringify(key)}:${written(its.shape)}`).join(",")}}`);
    if (required.length > 0) members.push(`"required":${JSON.stringify(required)}`);
  }
  if (shape.elements && shape.elements.types.size > 0) members.push(`"items":${written(shape.elements)}`);
  return `{${members.join(",")}}`;
}
