import type { RawEvent } from "./engine.js";
import type { Code, Note, Reject, RejectedCall } from "./types.js";

/** What was delivered and what was not. */
export class Report {
  /** The records delivered. */
  records = 0;
  /** The tool calls delivered. */
  toolCalls = 0;
  /** The rejects. */
  rejected = 0;
  /** The notes. */
  notes = 0;
  /** How often each code was reported. */
  readonly codes: { [code in Code]?: number } = {};
  /** The first rejects and notes; see `diagnostics`. */
  readonly diagnostics: (Reject | RejectedCall | Note)[] = [];
  /** Whether the source ended as it should: nothing is missing. */
  complete = false;
  readonly #kept: number;

  constructor(kept = 1000) {
    this.#kept = kept;
  }

  /** Counts an event. */
  add(event: RawEvent | Reject | RejectedCall | Note): void {
    switch (event.type) {
      case "record":
        this.records++;
        return;
      case "tool_call":
        this.toolCalls++;
        return;
      case "note":
        this.notes++;
        break;
      case "reject":
      case "rejected_call":
        this.rejected++;
        break;
      default:
        return;
    }
    const finding = event as Reject | RejectedCall | Note;
    this.codes[finding.code] = (this.codes[finding.code] ?? 0) + 1;
    if (this.diagnostics.length < this.#kept) this.diagnostics.push(finding);
  }
}
