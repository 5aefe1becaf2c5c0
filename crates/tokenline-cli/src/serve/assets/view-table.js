// The table of records: a column for each member seen, the open row at its end.

import { clipped, el, following, number, setText } from "./dom.js";

const MAX_COLUMNS = 12;
const CELL_LIMIT = 280;
const KEY_LIMIT = 40;

// Columns have fixed widths by steps of their longest text: a row that grows does not move the others about.
const WIDTHS = [[8, 1], [10, 1.25], [13, 1.5], [17, 1.9], [24, 2.2], [40, 2.6], [Infinity, 3]];
const longestWord = (name) => Math.max(...name.split(/[-\s]/).map((word) => word.length));
const weight = (length) => WIDTHS.find(([most]) => length <= most)[1];

export class TableView {
  #pane;
  #table;
  #head;
  #body;
  #columnWidths;
  #note;
  #empty;
  #columns = new Map(); // key: {at, header, width, weight}
  #other = null; // the column of all members beyond the last
  #first = 0; // number of the record of the first row
  #next = 0; // number of the first record that has no row
  #open = null; // {growth, row}

  constructor(root) {
    this.#pane = root.querySelector(".pane");
    this.#table = root.querySelector("table");
    this.#head = root.querySelector("thead tr");
    this.#body = root.querySelector("tbody");
    this.#columnWidths = root.querySelector("colgroup");
    this.#note = root.querySelector(".note");
    this.#empty = root.querySelector(".empty");
  }

  clear() {
    this.#columns = new Map();
    this.#other = null;
    this.#first = 0;
    this.#next = 0;
    this.#open = null;
    this.#body.replaceChildren();
    while (this.#head.children.length > 1) this.#head.lastChild.remove();
    while (this.#columnWidths.children.length > 1) this.#columnWidths.lastChild.remove();
  }

  draw(state) {
    following(this.#pane, () => this.#update(state));
    const { dropped } = state.rows;
    this.#note.hidden = dropped === 0;
    if (dropped > 0) setText(this.#note, `${number(dropped)} earlier records are not shown. The download has all of them.`);
    this.#empty.hidden = this.#body.children.length > 0;
    this.#table.hidden = !this.#empty.hidden;
  }

  #update({ rows, open, kind }) {
    for (let excess = Math.min(rows.dropped, this.#next) - this.#first; excess > 0; excess -= 1) {
      this.#body.firstChild.remove();
      this.#first += 1;
    }
    this.#next = Math.max(this.#next, rows.dropped);
    this.#first = Math.max(this.#first, rows.dropped);
    for (const record of rows.items.slice(this.#next - rows.dropped)) {
      this.#lock(record);
      this.#next += 1;
    }
    const growth = kind === "records" ? open : null;
    if (this.#open && this.#open.growth !== growth) this.#drop();
    if (growth && growth.members.size > 0) this.#grow(growth);
    this.#fit();
  }

  #lock({ index, at, cells }) {
    const isOpen = this.#open !== null && this.#open.growth.at === at;
    const row = isOpen ? this.#open.row : this.#newRow();
    this.#open = isOpen ? null : this.#drop();
    row.dataset.state = "complete";
    row.title = "";
    if (isOpen) row.classList.add("locked-now");
    setText(row.firstChild.lastChild, number(index + 1));
    setText(row.firstChild.firstChild, "complete");
    // What grew is not always what the record has in the end.
    for (const node of [...row.children].slice(1)) {
      setText(node, "");
      node.className = "";
    }
    this.#fill(row, cells, null);
  }

  #grow(growth) {
    if (!this.#open) {
      const row = this.#newRow();
      row.dataset.state = "open";
      setText(row.firstChild.firstChild, "open");
      this.#open = { growth, row };
    }
    if (growth.invalid) {
      const { row } = this.#open;
      row.dataset.state = "invalid";
      row.title = growth.invalid;
      setText(row.firstChild.firstChild, `invalid: ${growth.invalid}`);
    }
    const cells = [...growth.members].map(([key, member]) => [String(key), member]);
    const growing = cells.findLast(([, member]) => !member.done)?.[0] ?? null;
    this.#fill(this.#open.row, cells, growing);
  }

  #drop() {
    this.#open?.row.remove();
    this.#open = null;
    return null;
  }

  #newRow() {
    // The state in words for a screen reader, and the number of the record.
    const state = el("th", { scope: "row" }, el("span", { class: "mark visually-hidden" }), el("span"));
    const row = el("tr", {}, state);
    for (const { header } of this.#columns.values()) this.#addCell(row, header);
    if (this.#other) this.#addCell(row, this.#other.header);
    this.#body.append(row);
    return row;
  }

  #addCell(row, header) {
    row.append(el("td", { dir: "auto", "data-label": header.textContent }));
  }

  #fill(row, cells, growing) {
    const others = [];
    for (const [key, cell] of cells) {
      const column = this.#column(key);
      if (!column) {
        others.push(`${clipped(key, key.length, KEY_LIMIT)}: ${clipped(cell.text, cell.length, KEY_LIMIT)}`);
        continue;
      }
      const text = clipped(cell.text, cell.length, CELL_LIMIT);
      const node = row.children[column.at + 1];
      setText(node, text);
      node.className = key === growing ? `${cell.kind} growing` : cell.kind;
      column.width = Math.max(column.width, text.length);
    }
    if (others.length > 0) setText(row.children[MAX_COLUMNS + 1], others.join(", ").slice(0, 2 * CELL_LIMIT));
  }

  #column(key) {
    let column = this.#columns.get(key);
    if (column || this.#other) return column;
    const isOther = this.#columns.size === MAX_COLUMNS;
    const name = isOther ? "other members" : clipped(key, key.length, KEY_LIMIT);
    const header = el("th", { scope: "col", dir: "auto" }, name || "\u201c\u201d");
    column = { at: this.#columns.size, header, width: longestWord(name), weight: 0 };
    this.#head.append(header);
    this.#columnWidths.append(el("col"));
    if (isOther) this.#other = column;
    else this.#columns.set(key, column);
    for (const row of this.#body.children) this.#addCell(row, header);
    return isOther ? undefined : column;
  }

  #fit() {
    const columns = [...this.#columns.values()];
    if (this.#other) columns.push(Object.assign(this.#other, { width: 41 }));
    if (columns.every((column) => column.weight === weight(column.width))) return;
    for (const column of columns) column.weight = weight(column.width);
    const sum = columns.reduce((total, column) => total + column.weight, 0);
    columns.forEach((column, at) => {
      this.#columnWidths.children[at + 1].style.width = `${(column.weight / sum) * 100}%`;
    });
    this.#table.style.minWidth = `${sum * 4.1 + 2.75}rem`;
  }
}
