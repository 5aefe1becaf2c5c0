// Entities and relationships of records that have them: {"entity"} and {"subject","predicate","object"}.

const MAX_NODES = 60;
const MAX_EDGES = 120;
const LABEL_LIMIT = 60;

export class GraphData {
  nodes = new Map(); // by name: {name, label, isEntity, degree}
  edges = new Map(); // by subject, predicate and object: {from, to, label}
  left = 0; // records that are not drawn
  version = 0;

  /** Takes the cells of a record. */
  add(cells) {
    const texts = new Map(cells.filter(([, cell]) => cell.kind === "string").map(([key, cell]) => [key, cell.text]));
    const subject = texts.get("subject");
    const predicate = texts.get("predicate");
    const object = texts.get("object");
    if (subject !== undefined && predicate !== undefined && object !== undefined) {
      const flag = cells.find(([key]) => key === "object-entity");
      this.#relationship(subject, predicate, object, flag?.[1].text !== "false");
    } else if (texts.has("entity")) {
      if (this.#node(texts.get("entity"), true)) this.version += 1;
      else this.left += 1;
    }
  }

  #relationship(subject, predicate, object, isEntity) {
    const id = JSON.stringify([subject, predicate, object]);
    if (this.edges.has(id)) return;
    const needed = (this.nodes.has(subject) ? 0 : 1) + (this.nodes.has(object) ? 0 : 1);
    if (this.edges.size >= MAX_EDGES || this.nodes.size + needed > MAX_NODES) {
      this.left += 1;
      return;
    }
    const from = this.#node(subject, true);
    const to = this.#node(object, isEntity);
    from.degree += 1;
    to.degree += 1;
    this.edges.set(id, { from, to, label: clip(predicate) });
    this.version += 1;
  }

  #node(name, isEntity) {
    let node = this.nodes.get(name);
    if (!node && this.nodes.size < MAX_NODES) {
      node = { name, label: clip(name), isEntity, degree: 0 };
      this.nodes.set(name, node);
    }
    if (node && isEntity) node.isEntity = true;
    return node;
  }
}

function clip(text) {
  return text.length > LABEL_LIMIT ? text.slice(0, LABEL_LIMIT - 1) + "\u2026" : text;
}
