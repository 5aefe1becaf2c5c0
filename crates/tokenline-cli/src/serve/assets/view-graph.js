// The graph of entities and relationships: a picture, and the same as a list.

import { el, plural, setText, svg, visible } from "./dom.js";
import { Layout } from "./layout.js";

const MAX_EDGE_LABELS = 24;

export class GraphView {
  #root;
  #picture;
  #list;
  #note;
  #data = null;
  #version = 0;
  #layout = new Layout();
  #nodes = [];
  #edges = [];
  #box = null;
  #isMoving = false;
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(root) {
    this.#root = root;
    this.#picture = root.querySelector("svg");
    this.#list = root.querySelector("ul");
    this.#note = root.querySelector(".note");
  }

  clear() {
    this.#data = null;
    this.#version = 0;
    this.#layout = new Layout();
    this.#nodes = [];
    this.#edges = [];
    this.#box = null;
    this.#picture.replaceChildren();
    this.#list.replaceChildren();
  }

  draw({ graph }) {
    this.#root.hidden = graph.nodes.size === 0;
    if (this.#root.hidden) return;
    this.#note.hidden = graph.left === 0;
    setText(this.#note, `${plural(graph.left, "more record is", "more records are")} not drawn.`);
    if (graph === this.#data && graph.version === this.#version) return;
    this.#data = graph;
    this.#version = graph.version;
    this.#build(graph);
    this.#move();
  }

  #build(graph) {
    const nodes = [...graph.nodes.values()];
    const edges = [...graph.edges.values()];
    const places = new Map(nodes.map((node, at) => [node, at]));
    this.#layout.update(nodes.length, edges.map(({ from, to }) => [places.get(from), places.get(to)]));
    this.#edges = edges.map(({ from, to, label }) => {
      const line = svg("line", { class: to.isEntity ? "edge" : "edge literal" });
      const text = svg("text", { class: "edge-label" });
      if (edges.length <= MAX_EDGE_LABELS) text.textContent = visible(label);
      return { from: places.get(from), to: places.get(to), line, text };
    });
    this.#nodes = nodes.map(({ label, isEntity, degree }) => {
      const radius = isEntity ? 5 + Math.min(4, degree) : 3.5;
      const dot = svg("circle", { class: isEntity ? "node" : "node literal", r: radius });
      const text = svg("text", { class: isEntity ? "node-label" : "node-label literal" });
      text.textContent = visible(label);
      return { dot, text, radius, width: Math.min(60, label.length) * 6.6 };
    });
    this.#picture.replaceChildren(
      ...this.#edges.map(({ line }) => line),
      ...this.#edges.map(({ text }) => text),
      ...this.#nodes.map(({ dot }) => dot),
      ...this.#nodes.map(({ text }) => text),
    );
    const summary = `${plural(nodes.length, "entity", "entities")}, ${plural(edges.length, "relationship")}`;
    this.#picture.setAttribute("aria-label", `Graph: ${summary}. The same as a list follows.`);
    const sentences = edges.map(({ from, to, label }) => [from.label, label, to.label]);
    for (const { label, degree } of nodes) if (degree === 0) sentences.push([label]);
    this.#list.replaceChildren(
      ...sentences.map((words) => el("li", {}, ...words.map((word) => el("bdi", {}, visible(word))))),
    );
  }

  #move() {
    if (this.#still.matches) {
      while (this.#layout.isHot) this.#layout.step();
      this.#box = null;
      return this.#place();
    }
    if (this.#isMoving) return;
    this.#isMoving = true;
    const frame = () => {
      if (this.#nodes.length === 0) {
        this.#isMoving = false; // another run has begun
        return;
      }
      this.#layout.step();
      this.#place();
      this.#isMoving = this.#layout.isHot;
      if (this.#isMoving) requestAnimationFrame(frame);
    };
    this.#place();
    requestAnimationFrame(frame);
  }

  #place() {
    const { points } = this.#layout;
    const at = (element, values) => {
      for (const [name, value] of Object.entries(values)) element.setAttribute(name, value.toFixed(1));
    };
    for (const { from, to, line, text } of this.#edges) {
      const [a, b] = [points[from], points[to]];
      at(line, { x1: a.x, y1: a.y, x2: b.x, y2: b.y });
      at(text, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 + 3 });
    }
    const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    this.#nodes.forEach(({ dot, text, radius, width }, index) => {
      const { x, y } = points[index];
      at(dot, { cx: x, cy: y });
      at(text, { x, y: y + radius + 14 });
      box.left = Math.min(box.left, x - width / 2 - 8);
      box.right = Math.max(box.right, x + width / 2 + 8);
      box.top = Math.min(box.top, y - radius - 8);
      box.bottom = Math.max(box.bottom, y + radius + 24);
    });
    this.#look(box);
  }

  // The view follows the graph smoothly, and never enlarges it beyond its natural size.
  #look(box) {
    const previous = this.#box ?? box;
    const next = {};
    for (const side of Object.keys(box)) next[side] = previous[side] + (box[side] - previous[side]) * 0.15;
    this.#box = next;
    const { width: paneWidth, height: paneHeight } = this.#picture.getBoundingClientRect();
    const width = Math.max(next.right - next.left, paneWidth);
    const height = Math.max(next.bottom - next.top, paneHeight);
    const x = (next.left + next.right - width) / 2;
    const y = (next.top + next.bottom - height) / 2;
    this.#picture.setAttribute("viewBox", [x, y, width, height].map((value) => value.toFixed(1)).join(" "));
  }
}
