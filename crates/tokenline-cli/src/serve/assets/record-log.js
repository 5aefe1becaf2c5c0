// All records and tool calls of a run as JSON Lines, for the download. Blobs keep them out of the script's memory; the
// texts themselves are kept only while the history can have them, and saved over a reload if they are few enough.

const BLOB_SIZE = 256 * 1024;
const SAVE_LIMIT = 3 * 1024 * 1024;
const KEEP_LIMIT = 10_000_000;
const MAX_KEPT = 100_000; // short ones take more memory than their text
const MAX_SAMPLES = 500;

export class RecordLog {
  #blobs = [];
  #lines = [];
  #linesLength = 0;
  #length = 0;
  #entries = []; // {kind, index, raw, position}
  #samples = []; // the first of them, also after that
  size = 0;

  /** Adds a record or a call, and returns its entry. */
  add(kind, index, raw, position) {
    // A line feed inside would make two lines of one record. Outside of strings it is white space.
    const line = raw.includes("\n") || raw.includes("\r") ? raw.replace(/[\n\r]+/g, " ") : raw;
    this.#lines.push(line, "\n");
    this.#linesLength += line.length + 1;
    this.#length += line.length + 1;
    this.size += 1;
    if (this.#linesLength > BLOB_SIZE) this.#seal();
    const entry = { kind, index, raw, position };
    if (this.#length <= KEEP_LIMIT && this.size <= MAX_KEPT) this.#entries.push(entry);
    else this.#entries = [];
    if (this.canSave && this.#samples.length < MAX_SAMPLES) this.#samples.push(entry);
    return entry;
  }

  /** Whether the entries may be saved over a reload. */
  get canSave() {
    return this.#length <= SAVE_LIMIT;
  }

  /** All, or none if they are too long or too many. */
  get entries() {
    return this.#entries;
  }

  /** The JSON texts of the first records, or calls. */
  samples(kind) {
    return this.#samples.filter((entry) => entry.kind === kind).map(({ raw }) => raw);
  }

  /** The lines, one after the other. */
  async lines() {
    const text = await this.blob().text();
    return text.split("\n").slice(0, -1);
  }

  blob() {
    this.#seal();
    return new Blob(this.#blobs, { type: "application/jsonl" });
  }

  #seal() {
    if (this.#lines.length === 0) return;
    this.#blobs.push(new Blob(this.#lines));
    this.#lines = [];
    this.#linesLength = 0;
  }
}
