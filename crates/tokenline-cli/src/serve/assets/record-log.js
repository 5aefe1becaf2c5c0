// All records and tool calls of a run as JSON Lines, for the download. Blobs keep them out of the script's memory; the
// text itself is kept only while it is small enough to be saved over a reload.

const BLOB_SIZE = 256 * 1024;
const SAVE_LIMIT = 3 * 1024 * 1024;

export class RecordLog {
  #blobs = [];
  #lines = [];
  #linesLength = 0;
  #length = 0;
  #entries = []; // {kind, index, raw} while they may be saved
  size = 0;

  add(kind, index, raw) {
    // A line feed inside would make two lines of one record. Outside of strings it is white space.
    const line = raw.includes("\n") || raw.includes("\r") ? raw.replace(/[\n\r]+/g, " ") : raw;
    this.#lines.push(line, "\n");
    this.#linesLength += line.length + 1;
    this.#length += line.length + 1;
    this.size += 1;
    if (this.#linesLength > BLOB_SIZE) this.#seal();
    if (this.canSave) this.#entries.push({ kind, index, raw });
    else this.#entries = [];
  }

  get canSave() {
    return this.#length <= SAVE_LIMIT;
  }

  get entries() {
    return this.#entries;
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
