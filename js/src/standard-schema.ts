/** The [Standard Schema](https://standardschema.dev) interface, version 1, as far as it is used here. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** JSON Schemas of the values before and after the schema's own changes; not all libraries have it. */
    readonly jsonSchema?:
      | {
          readonly input: (options: { readonly target: string }) => { [keyword: string]: unknown };
          readonly output: (options: { readonly target: string }) => { [keyword: string]: unknown };
        }
      | undefined;
  };
}

/** The outcome of a validation. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A rule that a value breaks. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
