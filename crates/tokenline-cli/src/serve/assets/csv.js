// Records as CSV (RFC 4180), for spreadsheets.

import { members } from "./json.js";

// A cell that begins so is a formula to a spreadsheet, whatever wrote it.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** The most columns. The members beyond them share the last one, as JSON. */
const MAX_COLUMNS = 500;
const ROWS_OF_PART = 1000;

/**
 * The CSV of JSON objects, one in each text, in parts for a Blob: a column for each member, in the order in which they
 * appear.
 */
export function toCsv(lines) {
  const columns = new Map();
  let hasOthers = false;
  for (const line of lines) {
    for (const [key] of members(line, Infinity)) {
      if (columns.has(key)) continue;
      if (columns.size < MAX_COLUMNS) columns.set(key, columns.size);
      else hasOthers = true;
    }
  }
  const row = (line) => {
    const cells = new Array(columns.size).fill("");
    const others = [];
    for (const [key, raw] of members(line, Infinity)) {
      if (columns.has(key)) cells[columns.get(key)] = cell(raw);
      else others.push(`${JSON.stringify(key)}:${raw}`);
    }
    if (hasOthers) cells.push(others.length > 0 ? quoted(`{${others.join(",")}}`) : "");
    return `${cells.join(",")}\r\n`;
  };
  const names = [...columns.keys(), ...(hasOthers ? ["other members"] : [])];
  const parts = [`${names.map(quoted).join(",")}\r\n`];
  for (let from = 0; from < lines.length; from += ROWS_OF_PART) {
    parts.push(lines.slice(from, from + ROWS_OF_PART).map(row).join(""));
  }
  return parts;
}

// A number is written as it was: it is no formula, even if it is negative.
function cell(raw) {
  if (raw === "null") return "";
  return raw[0] === '"' ? quoted(JSON.parse(raw)) : /^[[{]/.test(raw) ? quoted(raw) : raw;
}

function quoted(text) {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}
