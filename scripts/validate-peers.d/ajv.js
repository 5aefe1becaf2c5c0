// Typical JavaScript code that validates conversations: `node ajv.js FILE` prints the number of valid ones. A conversation
// is valid if it has the right format and a new id. NODE_PATH is the directory of the packages.
const fs = require("node:fs");
const readline = require("node:readline");
const Ajv = require("ajv/dist/2020");
const formats = require("ajv-formats");

const isValid = formats(new Ajv()).compile(JSON.parse(fs.readFileSync(`${__dirname}/contract.json`)));
const ids = new Set();
const lines = readline.createInterface({ input: fs.createReadStream(process.argv[2]), crlfDelay: Infinity });
lines.on("line", (line) => {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return;
  }
  if (isValid(value)) ids.add(value.conversation_id);
});
lines.on("close", () => console.log(ids.size));
