import type { AssistantPart, FunctionTool, Message, Prompt, Request, ToolChoice, ToolResult, UserPart } from "./ai-types.js";
import type { JsonSchema } from "./types.js";

/** A tool, as a {@link ToolPrompt} describes it to the model. */
export interface PromptTool {
  name: string;
  description?: string;
  /** The JSON Schema of its input. */
  inputSchema: JsonSchema;
}

/** How tools, calls and results are written into the messages of a model without function calling. */
export interface ToolPrompt {
  /** The part of the system prompt about the tools. */
  tools(tools: readonly PromptTool[], toolChoice: ToolChoice): string;
  /** A call of an earlier turn, as the model writes it. */
  call(call: { id: string; name: string; input: unknown }): string;
  /** The result of a call, for a user message. */
  result(result: { id: string; name: string; content: string; isError: boolean }): string;
}

/** JSON with spaces after colons and commas, as the models' chat templates write it. */
function spaced(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return spaced(JSON.parse(JSON.stringify(value)));
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`).join(", ")}}`;
}

function described({ name, description, inputSchema }: PromptTool): string {
  // What a model needs to know of it.
  const parameters = typeof inputSchema === "object" ? { ...inputSchema, $schema: undefined } : { type: "object" };
  return spaced({ type: "function", function: { name, description, parameters } });
}

function choice(toolChoice: ToolChoice): string {
  if (toolChoice.type === "required") return "\n\nCall at least one of these functions.";
  return toolChoice.type === "tool" ? `\n\nCall the function \`${toolChoice.toolName}\`.` : "";
}

// The wording is that of crates/tokenline-prompt/src/tools/templates/hermes.txt and qwen3.txt; a test compares them.
const EXAMPLE = `For each call, write the function's name and arguments as JSON in a block of its own:
<tool_call>
{"name": "example_function", "arguments": {"example_parameter": "value"}}
</tool_call>`;
const INTRODUCTION = "You may call these functions, each with the JSON Schema of its parameters:";

const blocks: Pick<ToolPrompt, "call" | "result"> = {
  call: ({ name, input }) => `<tool_call>\n${spaced({ name, arguments: input ?? {} })}\n</tool_call>`,
  result: ({ content }) => `<tool_response>\n${content}\n</tool_response>`,
};

/** The prompts that have a name: that of the model family whose chat template they follow. */
export const TOOL_PROMPTS = {
  hermes: {
    tools: (tools, toolChoice) =>
      `${INTRODUCTION} <tools>\n${tools.map(described).join("\n")}\n</tools>\n${EXAMPLE}${choice(toolChoice)}`,
    ...blocks,
  },
  qwen3: {
    tools: (tools, toolChoice) =>
      `# Tools\n\n${INTRODUCTION}\n<tools>\n${tools.map(described).join("\n")}\n</tools>\n\n${EXAMPLE}${choice(toolChoice)}`,
    ...blocks,
  },
} satisfies { [name: string]: ToolPrompt };

/** The content of a result as text; files stay files. */
function contentOf(output: ToolResult["output"]): { content: string; files: UserPart[] } {
  switch (output.type) {
    case "text":
    case "error-text":
      return { content: output.value, files: [] };
    case "json":
    case "error-json":
      return { content: JSON.stringify(output.value), files: [] };
    case "execution-denied":
      return { content: output.reason ?? "Tool call execution denied.", files: [] };
    case "content": {
      const files = output.value.filter((part) => part.type === "file");
      const content = output.value.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
      return { content, files };
    }
  }
}

function ofAssistant(content: AssistantPart[], prompt: ToolPrompt): AssistantPart[] {
  let isAfterText = false;
  let isAfterCall = false;
  return content.map((part) => {
    if (part.type === "text") {
      const text = isAfterCall && !part.text.startsWith("\n") ? `\n${part.text}` : part.text;
      isAfterText = text !== "" && !text.endsWith("\n");
      isAfterCall = false;
      return text === part.text ? part : { ...part, text };
    }
    if (part.type !== "tool-call" || part.providerExecuted) return part;
    const call = prompt.call({ id: part.toolCallId, name: part.toolName, input: part.input });
    const text = isAfterText || isAfterCall ? `\n${call}` : call;
    isAfterText = false;
    isAfterCall = true;
    return { type: "text", text };
  });
}

function ofTool(content: Extract<Message, { role: "tool" }>["content"], prompt: ToolPrompt): UserPart[] {
  const texts: string[] = [];
  const all: UserPart[] = [];
  for (const part of content) {
    if (part.type !== "tool-result") continue;
    const { toolCallId: id, toolName: name, output } = part;
    const { content, files } = contentOf(output);
    const isError = output.type.startsWith("error") || output.type === "execution-denied";
    texts.push(prompt.result({ id, name, content, isError }));
    all.push(...files);
  }
  return texts.length > 0 ? [{ type: "text", text: texts.join("\n") }, ...all] : all;
}

/** The messages with calls and results as text. */
function asText(messages: Prompt, prompt: ToolPrompt): Prompt {
  const written: Prompt = [];
  /** The last message, if it has results. What the user says next goes on with it: turns alternate. */
  let results: Extract<Message, { role: "user" }> | undefined;
  for (const message of messages) {
    if (message.role === "tool") {
      const content = ofTool(message.content, prompt);
      if (results) results.content.push(...content);
      else if (content.length > 0) written.push((results = { role: "user", content }));
    } else if (message.role === "user" && results) {
      const content = [...results.content, ...message.content];
      written[written.length - 1] = { ...message, content };
      results = undefined;
    } else {
      results = undefined;
      const isAssistant = message.role === "assistant";
      written.push(isAssistant ? { ...message, content: ofAssistant(message.content, prompt) } : message);
    }
  }
  return written;
}

/** The messages with this at the end of the system prompt. */
function withSystem(messages: Prompt, text: string): Prompt {
  const first = messages.findIndex((message) => message.role !== "system");
  const at = (first < 0 ? messages.length : first) - 1;
  const system = messages[at];
  if (system?.role !== "system") return [{ role: "system", content: text }, ...messages];
  const content = system.content.trim() === "" ? text : `${system.content.trimEnd()}\n\n${text}`;
  return messages.with(at, { ...system, content });
}

/** The request with its function tools, their calls and results in the messages. */
export function toolsAsText(request: Request, prompt: ToolPrompt): Request {
  const { tools = [], toolChoice = { type: "auto" }, ...rest } = request;
  const functions = tools.filter((tool): tool is FunctionTool => tool.type === "function");
  const others = tools.filter((tool) => tool.type !== "function");
  let messages = asText(rest.prompt, prompt);
  if (functions.length > 0 && toolChoice.type !== "none") {
    messages = withSystem(messages, prompt.tools(functions as unknown as PromptTool[], toolChoice));
  }
  const isOfOthers =
    toolChoice.type === "none" || (toolChoice.type === "tool" && others.some((tool) => tool.name === toolChoice.toolName));
  return {
    ...rest,
    prompt: messages,
    ...(others.length > 0 && { tools: others, ...(isOfOthers && { toolChoice }) }),
  };
}
