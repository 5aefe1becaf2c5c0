// Dialogs over the page. The browser keeps the focus inside, closes them with Escape, and gives the focus back.

import { el } from "./dom.js";

/** A dialog with a title and a button to close it; `dialog` is the element, `body` is what scrolls. */
export class Dialog {
  constructor(id, title, ...content) {
    const close = el("button", { type: "button", class: "quiet" }, "Close");
    this.title = el("h2", { id: `${id}-title` }, title);
    this.body = el("div", { class: "dialog-body" }, ...content);
    this.element = el(
      "dialog",
      { id, class: "dialog", "aria-labelledby": `${id}-title` },
      el("div", { class: "dialog-head" }, this.title, close),
      this.body,
    );
    close.addEventListener("click", () => this.close());
    this.element.addEventListener("click", ({ target, clientX, clientY }) => {
      // Beside it: on the backdrop. A key press on a button has no place.
      if (target !== this.element) return;
      const { left, right, top, bottom } = this.element.getBoundingClientRect();
      if (clientX < left || clientX > right || clientY < top || clientY > bottom) this.close();
    });
    document.body.append(this.element);
  }

  get isOpen() {
    return this.element.open;
  }

  open() {
    if (!this.isOpen) this.element.showModal();
    this.body.scrollTop = 0;
  }

  close() {
    this.element.close();
  }
}

/** A button that says what it is of, for those who do not see where it stands. */
export function button(text, of, pressed) {
  const element = el("button", { type: "button" }, text);
  if (of) element.append(el("span", { class: "visually-hidden" }, ` ${of}`));
  element.addEventListener("click", () => {
    if (element.ariaDisabled !== "true") pressed(element);
  });
  return element;
}

const TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

export function time(value) {
  return el("time", { datetime: new Date(value).toISOString() }, TIME.format(value));
}
