// A text with the places in it that break a rule.

import { el, visible } from "./dom.js";

/** The text, in which each mark, {start, end, message}, is underlined, and has its message as its title. */
export function marked(text, marks) {
  const parts = document.createDocumentFragment();
  let at = 0;
  for (const [start, end, messages] of separate(marks, text.length)) {
    parts.append(visible(text.slice(at, start)));
    parts.append(el("mark", { title: visible(messages.join("; ")) }, visible(text.slice(start, end))));
    at = end;
  }
  parts.append(visible(text.slice(at)));
  return parts;
}

/** Marks that may overlap as parts that do not: [start, end, messages], in order. */
function separate(marks, length) {
  const inside = marks.map(({ start, end, message }) => ({ start, end: Math.min(end, length), message }));
  const seen = inside.filter(({ start, end }) => start < end);
  const edges = [...new Set(seen.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const parts = [];
  for (let edge = 0; edge + 1 < edges.length; edge += 1) {
    const [start, end] = [edges[edge], edges[edge + 1]];
    const messages = seen.filter((mark) => mark.start <= start && end <= mark.end).map(({ message }) => message);
    if (messages.length > 0) parts.push([start, end, messages]);
  }
  return parts;
}
