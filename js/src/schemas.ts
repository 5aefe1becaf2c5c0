import type { Engine } from "./engine.js";
import { invalidOption } from "./errors.js";
import type { StandardIssue, StandardSchemaV1 } from "./standard-schema.js";
import type { JsonSchema, Reject, Schema, Tools } from "./types.js";

/** A schema as a parser takes it. */
export interface Checked {
  /** The number of the compiled JSON Schema. */
  compiled?: number;
  /** What judges the complete value afterwards. */
  standard?: StandardSchemaV1;
}

/** Whether this is a Standard Schema; some are functions. */
export function isStandard(schema: unknown): schema is StandardSchemaV1 {
  return (
    ((typeof schema === "object" && schema !== null) || typeof schema === "function") &&
    typeof (schema as Partial<StandardSchemaV1>)["~standard"]?.validate === "function"
  );
}

/** The JSON Schema of what a Standard Schema takes, if its library can tell. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonSchema | undefined {
  try {
    return schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    // It has a part that no JSON Schema describes: its own validation judges.
    return undefined;
  }
}

/**
 * What judges the records. A Standard Schema alone decides: the JSON Schemas that libraries make are stricter than they are
 * (flags of patterns, lengths, `coerce`, `catch`, `trim`).
 */
export function checked(engine: Engine, schema: Schema | undefined): Checked {
  if (schema === undefined) return {};
  if (isStandard(schema)) return { standard: schema };
  if ((typeof schema !== "object" && typeof schema !== "boolean") || schema === null) {
    throw invalidOption("`schema` must be a JSON Schema or a Standard Schema (zod, valibot, arktype)");
  }
  if (Object.values(schema).some(isStandard)) {
    throw invalidOption("`schema` is an object of schemas, not a schema: is `z.object(...)` around it missing?");
  }
  if (!engine.hasSchemas) {
    throw invalidOption("a JSON Schema as `schema` needs the entry point `tokenline/schema`");
  }
  const key = typeof schema === "object" ? schema : { schema };
  return { compiled: engine.compile("schema", key, () => JSON.stringify(schema)) };
}

function pointer(path: StandardIssue["path"]): string {
  const step = (step: PropertyKey | { readonly key: PropertyKey }) => String(typeof step === "object" ? step.key : step);
  return (path ?? []).map((key) => `/${step(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The members of a reject that say which rule is broken, from the issues of a Standard Schema. */
export function faults(
  issues: readonly StandardIssue[],
  code: "schema_violation" | "invalid_parameters",
  place: { line?: number; column?: number },
): Pick<Reject, "code" | "message" | "instancePath" | "further"> {
  const [first, ...rest] = issues.map((issue) => ({
    code,
    message: issue.message,
    line: place.line ?? 1,
    column: place.column ?? 1,
    instancePath: (code === "invalid_parameters" ? "/parameters" : "") + pointer(issue.path),
  }));
  if (!first) return { code, message: "the value is not valid" };
  const { message, instancePath } = first;
  return rest.length > 0 ? { code, message, instancePath, further: rest } : { code, message, instancePath };
}

/** Tools as a parser takes them. */
export interface CheckedTools {
  /** The number of the compiled definitions. */
  compiled?: number;
  names: string[];
  /** What judges the arguments afterwards. */
  standard: Map<string, StandardSchemaV1>;
}

interface AnyTool {
  name?: unknown;
  type?: unknown;
  description?: unknown;
  parameters?: unknown;
  inputSchema?: unknown;
  input_schema?: unknown;
  function?: unknown;
}

const PARAMETERS = ["parameters", "inputSchema", "input_schema", "function"];
const KEYWORDS = ["properties", "required", "$ref", "$schema", "allOf", "anyOf", "oneOf", "additionalProperties"];

/** Whether an object is a JSON Schema of arguments, not a tool that has one. */
function isParameters(tool: object): boolean {
  if (PARAMETERS.some((member) => member in tool)) return false;
  return (tool as AnyTool).type === "object" || KEYWORDS.some((keyword) => keyword in tool);
}

/** Tools by name, as a list. */
function listed(tools: Tools): AnyTool[] {
  if (Array.isArray(tools)) return tools as AnyTool[];
  return Object.entries(tools).map(([name, tool]) => {
    if (isStandard(tool)) return { name, parameters: tool };
    if (typeof tool !== "object" || tool === null) throw invalidOption(`the tool \`${name}\` must be an object or a schema`);
    return isParameters(tool) ? { name, parameters: tool } : { ...(tool as AnyTool), name };
  });
}

/** What judges the calls. */
export function checkedTools(engine: Engine, tools: Tools | undefined): CheckedTools | undefined {
  if (tools === undefined) return undefined;
  if (typeof tools !== "object" || tools === null) throw invalidOption("`tools` must be a list or an object of tools");
  const standard = new Map<string, StandardSchemaV1>();
  const definitions = listed(tools).map((given): { name: string; description?: string; parameters?: object } => {
    if (typeof given !== "object" || given === null) throw invalidOption("each of `tools` must be an object");
    const tool = (given.type === "function" && given.function ? given.function : given) as AnyTool;
    const name = tool.name;
    if (typeof name !== "string") throw invalidOption("each of `tools` must have a `name`");
    let parameters = tool.parameters ?? tool.inputSchema ?? tool.input_schema;
    // The AI SDK wraps JSON Schemas.
    const wrapped = (parameters as { jsonSchema?: unknown } | undefined)?.jsonSchema;
    if (isStandard(parameters)) {
      standard.set(name, parameters);
      parameters = jsonSchemaOf(parameters);
    } else if (typeof wrapped === "object" && wrapped !== null) {
      parameters = wrapped;
    } else if (typeof parameters !== "object" && parameters !== undefined) {
      throw invalidOption(`the parameters of the tool \`${name}\` must be a schema`);
    }
    const { description } = tool;
    return {
      name,
      ...(typeof description === "string" && { description }),
      ...(typeof parameters === "object" && parameters !== null && { parameters }),
    };
  });
  const names = definitions.map((definition) => definition.name);
  if (!engine.hasSchemas) return { names, standard };
  // Those that their own schemas judge get their types from these: a text has `3` for a number and for a string.
  const text = () => JSON.stringify([definitions, [...standard.keys()]]);
  try {
    return { compiled: engine.compile("tools", tools, text), names, standard };
  } catch (error) {
    if (standard.size === 0) throw error;
    // A library may say what is no JSON Schema.
    for (const definition of definitions) if (standard.has(definition.name)) delete definition.parameters;
    return { compiled: engine.compile("tools", tools, text), names, standard };
  }
}
