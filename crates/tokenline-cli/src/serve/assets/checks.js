// Checks of the JSON that a user enters. Each returns what is wrong, for people, or "".

export function problemOfSchema(text) {
  if (text.trim() === "") return "Enter a JSON Schema, or choose Nothing above.";
  return problemOfJson(text, (value) => (isObject(value) ? "" : "A JSON Schema must be an object."));
}

export function problemOfTools(text) {
  if (text.trim() === "") return "Enter tool definitions, or choose Nothing above.";
  return problemOfJson(text, (value) => {
    if (!Array.isArray(value) || value.length === 0) return "Tool definitions must be an array with at least one tool.";
    const wrong = value.findIndex((tool) => !isObject(tool) || typeof (tool.name ?? tool.function?.name) !== "string");
    return wrong < 0 ? "" : `Tool ${wrong + 1} must be an object with a "name".`;
  });
}

export function problemOfObject(text) {
  return problemOfJson(text, (value) => (isObject(value) ? "" : "Enter a JSON object."));
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function problemOfJson(text, check) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `Not valid JSON${placeOf(error.message, text)}: ${reasonOf(error.message)}.`;
  }
  return check(value);
}

// The engines word it in their own ways: "... at position 12 (line 2 column 3)", "... at line 2 column 3 of the JSON data".
function placeOf(message, text) {
  const place = /line (\d+) column (\d+)/.exec(message);
  if (place) return ` at line ${place[1]}, column ${place[2]}`;
  const position = /position (\d+)/.exec(message);
  if (position) {
    const before = text.slice(0, Number(position[1])).split("\n");
    return ` at line ${before.length}, column ${before.at(-1).length + 1}`;
  }
  const atEnd = /end of (JSON|data|input)/i.test(message);
  return atEnd ? ` at line ${text.split("\n").length}` : "";
}

function reasonOf(message) {
  const reason = message
    .replace(/^JSON\.parse: |^JSON Parse error: /, "")
    .replace(/,? (in JSON )?at (position|line) .*$/s, "")
    .replace(/, ".*" is not valid JSON$/s, "")
    .replace(/, \.{3}.* is not valid JSON$/s, "");
  return reason.charAt(0).toLowerCase() + reason.slice(1);
}
