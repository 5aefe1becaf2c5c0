// The table of records: a column for each member seen, the open row at its end.

import { clipped, el, following, number, setText } from "./dom.js";
import { PLACE, RecordQuery } from "./query.js";
import { cellsOf } from "./state.js";

const MAX_COLUMNS = 12;
const CELL_LIMIT = 280;
const KEY_LIMIT = 40;
// Of a filtered or sorted table.
const MAX_FOUND = 250;
const QUERY_INTERVAL = 500;

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
  #query = new RecordQuery();
  #queried = { size: 0, at: 0, isDue: false }; // what the rows of a filtered or sorted table are of
  #entries = new WeakMap(); // of a row: the entry of the log
  #redraw;
  #sorts;
  #hasChanges = false; // a row has a mark
  #isOpened;

  /** `open(entry, button)` shows a record, `isOpened(entry)` says whether it does; `redraw()` asks for another drawing. */
  constructor(root, { open, isOpened, redraw }) {
    this.#redraw = redraw;
    this.#isOpened = isOpened;
    this.#pane = root.querySelector(".pane");
    this.#table = root.querySelector("table");
    this.#head = root.querySelector("thead tr");
    this.#body = root.querySelector("tbody");
    this.#columnWidths = root.querySelector("colgroup");
    this.#note = root.querySelector(".note");
    this.#empty = root.querySelector(".empty");
    root.querySelector("#filter").addEventListener("input", ({ target }) => {
      this.#change(() => (this.#query.filter = target.value));
    });
    const place = this.#sortButton(PLACE, "#");
    place.setAttribute("aria-label", "Place in the response");
    place.title = "Sort by the place in the response";
    this.#head.firstElementChild.replaceChildren(place);
    // Where there is no room for a head.
    this.#sorts = root.querySelector("#sort");
    this.#sorts.addEventListener("change", () => {
      const key = this.#sorts.selectedOptions[0].value === "" ? null : [...this.#columns.keys()][this.#sorts.selectedIndex - 1];
      this.#change(() => (this.#query.sort = key === null ? null : { key, descending: false }));
    });
    this.#body.addEventListener("click", ({ target }) => {
      const row = target.closest("tr");
      const entry = this.#entries.get(row);
      // A text of the row that is being selected is not a click.
      const isSelected = !target.closest("button") && String(getSelection()) !== "" && row.contains(getSelection().anchorNode);
      if (entry && !isSelected) open(entry, row.querySelector("button"));
    });
  }

  #change(change) {
    const was = this.#query.isActive;
    change();
    this.#queried = { size: 0, at: 0, isDue: true };
    if (was && !this.#query.isActive) this.#clearRows();
    this.#markSorted(PLACE, this.#head.firstElementChild);
    this.#sorts.selectedIndex = 1 + [...this.#columns.keys()].indexOf(this.#query.sort?.key);
    for (const [key, { header }] of this.#columns) this.#markSorted(key, header);
    this.#redraw();
  }

  #markSorted(key, header) {
    const { sort } = this.#query;
    header.setAttribute("aria-sort", sort?.key === key ? (sort.descending ? "descending" : "ascending") : "none");
  }

  #sortButton(key, title) {
    const button = el("button", { type: "button", class: "sort" }, title);
    button.addEventListener("click", () => this.#change(() => this.#query.sortBy(key)));
    return button;
  }

  #clearRows() {
    this.#first = 0;
    this.#next = 0;
    this.#open = null;
    this.#queried = { size: 0, at: 0, isDue: true };
    this.#body.replaceChildren();
  }

  clear() {
    this.#hasChanges = false;
    this.#numberColumn.style.width = "";
    this.#head.firstElementChild.setAttribute("aria-sort", "none");
    this.#clearRows();
    this.#columns = new Map();
    this.#other = null;
    this.#query.sort = null;
    this.#sorts.replaceChildren(this.#sorts.firstElementChild);
    while (this.#head.children.length > 1) this.#head.lastChild.remove();
    while (this.#columnWidths.children.length > 1) this.#columnWidths.lastChild.remove();
  }

  draw(state) {
    const rows = this.#query.isActive ? this.#find(state) : this.#follow(state);
    const note = [rows, this.#hasChanges ? LEGEND : ""].filter(Boolean).join(" ");
    this.#note.hidden = note === "";
    setText(this.#note, note);
    // What a filter found is announced; what streams by is not.
    this.#note.setAttribute("aria-live", this.#query.isActive ? "polite" : "off");
    this.#empty.hidden = this.#body.children.length > 0;
    setText(this.#empty, this.#query.isActive ? "No record matches." : emptyText(state));
    this.#table.hidden = !this.#empty.hidden;
  }

  // The latest records, as they come.
  #follow(state) {
    following(this.#pane, () => this.#update(state));
    const { dropped } = state.rows;
    return dropped > 0 ? `${number(dropped)} earlier records are not shown. The download has all of them.` : "";
  }

  // The records that match, anew when there are more of them, but not too often.
  #find({ log, rows, figures }) {
    const queried = this.#queried;
    const wait = queried.at + QUERY_INTERVAL - performance.now();
    if (queried.isDue || (queried.size !== log.size && wait <= 0)) {
      // Too many of them are not kept: then the latest.
      const isWhole = log.entries.length === log.size;
      const found = this.#query.select(isWhole ? log.entries : rows.items.map(({ entry }) => entry));
      const focused = this.#entries.get(document.activeElement?.closest("tr"));
      this.#clearRows();
      // Those of the latest are known, also where only the beginning of a long record is kept.
      const known = new Map(rows.items.map(({ entry, cells }) => [entry, cells]));
      for (const entry of found.slice(0, MAX_FOUND)) {
        this.#lock({ entry, index: entry.index, cells: known.get(entry) ?? cellsOf(entry.raw) });
      }
      this.#fit();
      const row = [...this.#body.children].find((row) => this.#entries.get(row)?.index === focused?.index);
      row?.querySelector("button").focus();
      this.#queried = { size: log.size, at: performance.now(), isDue: false, found: found.length };
    } else if (queried.size !== log.size) {
      setTimeout(this.#redraw, wait);
    }
    const { found } = this.#queried;
    const all = log.entries.length < log.size ? ` Only the latest ${number(rows.items.length)} are searched: the rest is in the download.` : "";
    const more = found > MAX_FOUND ? `; the first ${MAX_FOUND} are shown` : "";
    return `${number(found)} of ${number(figures.records)} records${more}. The downloads have all of them.${all}`;
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

  #lock({ index, at, cells, entry }) {
    const isOpen = this.#open !== null && this.#open.growth.at === at;
    const row = isOpen ? this.#open.row : this.#newRow();
    this.#open = isOpen ? null : this.#drop();
    row.dataset.state = "complete";
    row.title = "";
    if (isOpen) row.classList.add("locked-now");
    setText(row.firstChild.lastChild, number(index + 1));
    setText(row.firstChild.firstChild, "complete");
    row.firstChild.lastChild.hidden = false;
    row.firstChild.lastChild.ariaExpanded = String(this.#isOpened(entry));
    this.#entries.set(row, entry);
    const marks = entry.position?.marks ?? [];
    this.#hasChanges ||= marks.length > 0;
    row.firstChild.children[1].append(...marks.map(markOf));
    const width = 1.75 + 0.5 * number(index + 1).length + (this.#hasChanges ? 1.25 : 0);
    if (width > 2.75) this.#numberColumn.style.width = `${width}rem`;
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
    const button = el("button", { type: "button", class: "row-number", "aria-controls": "detail", "aria-expanded": "false", hidden: "" });
    const state = el("th", { scope: "row" }, el("span", { class: "mark visually-hidden" }), el("span", { class: "marks" }), button);
    const row = el("tr", {}, state);
    for (const { header } of this.#columns.values()) this.#addCell(row, header);
    if (this.#other) this.#addCell(row, this.#other.header);
    this.#body.append(row);
    return row;
  }

  get #numberColumn() {
    return this.#columnWidths.firstElementChild;
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
    const header = el("th", { scope: "col", dir: "auto" });
    const title = name || "\u201c\u201d";
    if (isOther) {
      header.append(title);
    } else {
      header.append(this.#sortButton(key, title));
      this.#sorts.append(el("option", {}, `By ${title}`));
      header.setAttribute("aria-sort", "none");
    }
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

const LEGEND = "\u270e repaired, \u21bb asked again.";
const SYMBOLS = { repaired: "\u270e", asked: "\u21bb" };

// How a record differs from what the model wrote at first: a sign, and in words.
function markOf(mark) {
  const symbol = el("span", { "aria-hidden": "true" }, SYMBOLS[mark.match(/^\w+/)[0]] ?? "\u2022");
  return el("span", { class: "change", title: mark }, symbol, el("span", { class: "visually-hidden" }, `${mark}, `));
}

function emptyText({ status, isRunning, figures }) {
  if (status === "idle") {
    return "Press Extract, or drop a saved response on the page. Each record appears here while the model writes it, and is locked when it is complete and valid.";
  }
  if (isRunning) return "No record yet.";
  return figures.rejected > 0 ? "No record was accepted. The rejected ones are below." : "The response has no records.";
}
