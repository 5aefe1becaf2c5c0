// Prints the records of a response as they come. With a server that speaks OpenAI's chat completions:
//
//   OPENAI_BASE_URL=http://127.0.0.1:8080/v1 node extract.mjs "the moons of Jupiter"
import { records } from "tokenline/schema";

const { OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_API_KEY = "none", MODEL = "gpt-5-mini" } = process.env;
const subject = process.argv[2] ?? "the moons of Jupiter";

const response = fetch(`${OPENAI_BASE_URL}/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${OPENAI_API_KEY}` },
  body: JSON.stringify({
    model: MODEL,
    stream: true,
    messages: [{ role: "user", content: `List ${subject} as JSON Lines: one object {"name", "note"} a line.` }],
  }),
});
const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const stream = records(response, { provider: "openai-chat", schema });
for await (const record of stream) console.log(JSON.stringify(record));

const { report } = stream;
for (const { line, column, code, message } of report.diagnostics) console.error(`${line}:${column}: ${code}: ${message}`);
if (!report.complete) console.error("the response was cut off");
