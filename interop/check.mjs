// Compares tokenline with third-party decoders and servers. Usage:
//   node check.mjs [TOKENLINE [DIRECTORY]]
// TOKENLINE is the program. DIRECTORY, if given, keeps the bodies that part 2 serves and the files that part 3 passes to
// the program. Prints one line per case; exit code 1 if anything differs.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkExtract } from './extract.mjs';
import { checkAgainstMock } from './mock.mjs';
import { checkReplay } from './replay.mjs';
import { killChildren } from './servers.mjs';
import { checkChatAnalysis } from './chat-analysis.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const program = path.resolve(process.argv[2] ?? path.join(here, '../target/debug/tokenline'));
if (!existsSync(program)) {
  console.error(`${program} does not exist; build it with: cargo build -p tokenline-cli`);
  process.exit(1);
}

// A hanging case must not block the caller.
const MAX_SECONDS = 115;
setTimeout(() => {
  console.error(`FAIL timeout after ${MAX_SECONDS} seconds`);
  process.exit(1);
}, MAX_SECONDS * 1_000).unref();
process.on('exit', killChildren);

// Ollama's and Google's packages warn about bodies that are broken on purpose.
console.warn = () => {};

const kept = process.argv[3];
if (kept) mkdirSync(kept, { recursive: true });
const directory = kept ?? mkdtempSync(path.join(tmpdir(), 'tokenline-interop-'));
process.on('exit', () => kept ?? rmSync(directory, { recursive: true, force: true }));

const counts = { passed: 0, failed: 0 };

/** Runs one case and prints its line. */
async function report(name, run) {
  let differences;
  let note;
  try {
    ({ differences, note } = await run());
  } catch (thrown) {
    differences = [thrown.stack];
  }
  const passed = differences.length === 0;
  counts[passed ? 'passed' : 'failed'] += 1;
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${name}${note ? ` (${note})` : ''}`);
  for (const difference of differences) console.log(`    ${difference}`);
}

const bodies = await checkAgainstMock(program, report);
await checkReplay(program, bodies, directory, report);
await checkExtract(program, directory, report);
await checkChatAnalysis(program, directory, report);
console.log(`interop: ${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
