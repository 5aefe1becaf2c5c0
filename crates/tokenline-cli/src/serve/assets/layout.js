// A small force layout: nodes repel each other, edges pull, all are drawn to the middle.

const LENGTH = 120; // of an edge at rest
const REPULSION = 9000;
const GRAVITY = 0.012;
const COOLING = 0.975;
const COLD = 0.01;

export class Layout {
  points = []; // {x, y}, in the order of the nodes
  #edges = []; // [from, to]
  #heat = 0;

  /** Takes the graph as it is now: points that exist stay where they are. */
  update(count, edges) {
    this.#edges = edges;
    for (let at = this.points.length; at < count; at += 1) this.points.push(this.#place(at));
    this.#heat = Math.max(this.#heat, 0.6);
  }

  get isHot() {
    return this.#heat > COLD;
  }

  // Beside a neighbour that has a place, else on a spiral. Without chance: the same graph looks the same.
  #place(at) {
    const angle = at * 2.399963;
    for (const [from, to] of this.#edges) {
      const other = from === at ? to : to === at ? from : at;
      if (other < at) {
        const { x, y } = this.points[other];
        return { x: x + 60 * Math.cos(angle), y: y + 60 * Math.sin(angle) };
      }
    }
    const radius = 40 * Math.sqrt(at);
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  }

  step() {
    const { points } = this;
    const forces = points.map(({ x, y }) => ({ x: -x * GRAVITY, y: -y * GRAVITY * 1.6 }));
    for (let a = 0; a < points.length; a += 1) {
      for (let b = 0; b < a; b += 1) {
        const dx = points[a].x - points[b].x || 0.1 * (a - b);
        const dy = points[a].y - points[b].y || 0.1;
        const push = REPULSION / (dx * dx + dy * dy) ** 1.5;
        forces[a].x += dx * push;
        forces[a].y += dy * push;
        forces[b].x -= dx * push;
        forces[b].y -= dy * push;
      }
    }
    for (const [from, to] of this.#edges) {
      if (from === to) continue;
      const dx = points[to].x - points[from].x;
      const dy = points[to].y - points[from].y;
      const distance = Math.hypot(dx, dy) || 1;
      const pull = (0.08 * (distance - LENGTH)) / distance;
      forces[from].x += dx * pull;
      forces[from].y += dy * pull;
      forces[to].x -= dx * pull;
      forces[to].y -= dy * pull;
    }
    points.forEach((point, at) => {
      const size = Math.hypot(forces[at].x, forces[at].y) || 1;
      const move = Math.min(size, 30) * this.#heat / size;
      point.x += forces[at].x * move;
      point.y += forces[at].y * move;
    });
    this.#heat *= COOLING;
  }
}
