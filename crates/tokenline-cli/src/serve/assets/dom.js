// Elements without markup. Texts that a model wrote reach the document only through here, as text.

/** An element with attributes (`class`, `id`, `aria-...`), and children: nodes or texts. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function svg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Sets a text if it is another one: an unchanged node costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const count = new Intl.NumberFormat("en");
export const number = (value) => count.format(value);

export function plural(value, one, many = one + "s") {
  return `${number(value)} ${value === 1 ? one : many}`;
}

// Controls that reorder or hide what surrounds them are shown by name. Marks that scripts need (joiners, LRM, RLM) stay.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A model's text with its controls made visible. */
export function visible(text) {
  return text.replace(CONTROLS, (control) => {
    return `\u27e8U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

/** A model's text, clipped; what is missing is said. `length` is that of the whole. */
export function clipped(text, length, limit) {
  if (length <= limit) return visible(text);
  return `${visible(text.slice(0, limit))}\u2026 (${number(length)} characters)`;
}

/** Keeps a scrolling pane at its end while `change` adds to it, unless the reader has scrolled up. */
export function following(pane, change) {
  const isAtEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 32;
  change();
  if (isAtEnd) pane.scrollTop = pane.scrollHeight;
}
