/** The error of this package. What a model wrote wrong is no error: it is a {@link Reject} among the events. */
export class TokenlineError extends Error {
  override readonly name = "TokenlineError";
  /**
   * The reason, in a word that stays the same: `invalid_option`, `unsupported_schema`, `unsupported_source`,
   * `http_error`, `unavailable`; `freed` and `reentrant` of a parser that is used when it cannot be; `response_failed`,
   * `truncated` or `stream_incomplete` if a server's events say so; with `strict`, the code of the reject.
   */
  readonly code: string;
  /** The reject, with `strict`. */
  readonly reject?: import("./types.js").Reject | import("./types.js").RejectedCall;
  /** The line of the reject, from 1. */
  readonly line?: number;
  /** The column of the reject: bytes, from 1. */
  readonly column?: number;
  /** The status of an HTTP response that is no success. */
  readonly status?: number;

  constructor(code: string, message: string, more: Pick<Partial<TokenlineError>, "reject" | "status" | "cause"> = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    if (more.reject) {
      this.reject = more.reject;
      this.line = more.reject.line;
      this.column = more.reject.column;
    }
    if (more.status !== undefined) this.status = more.status;
  }
}

/** The error about an option. */
export function invalidOption(message: string): TokenlineError {
  return new TokenlineError("invalid_option", message);
}
