// What one writes in JavaScript to validate conversations: `node ajv.js FILE` prints how many are valid. A conversation
// is valid if it fits the contract and its id is new. NODE_PATH names the folder of the packages.
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
