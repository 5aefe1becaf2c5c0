// Runs the official clients through `tokenline proxy`. Usage:
//   node check.mjs TOKENLINE PYTHON
// PYTHON has the packages of requirements.txt. Prints one line per case; exit code 1 if anything differs.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENTS } from './clients/index.mjs';
import { NAMES } from './families.mjs';
import { described, judgeConversation, judgeFault } from './judge.mjs';
import { checkLocalModel } from './local-model.mjs';
import { checkPassthrough } from './passthrough.mjs';
import { killChildren, linesOf, startProxy } from './programs.mjs';
import { startUpstream } from './upstream.mjs';

const [program, python] = process.argv.slice(2);
if (!python) {
  console.error('usage: node check.mjs TOKENLINE PYTHON');
  process.exit(1);
}

// A hanging case must not block the caller.
const MAX_SECONDS = 110;
setTimeout(() => {
  console.error(`FAIL timeout after ${MAX_SECONDS} seconds`);
  process.exit(1);
}, MAX_SECONDS * 1_000).unref();
process.on('exit', killChildren);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

// The libraries warn about models that they do not know.
console.warn = () => {};

const AT_ONCE = 16;
/** Servers whose responses are read: every client can use them. */
const READ = ['openai-chat', 'ollama'];
/** Servers whose responses go on as they are, for the clients of their API, by its name in the clients. */
const FORWARDED = { chat: 'openai-chat, forwarded', responses: 'openai-responses', anthropic: 'anthropic' };
/** A server whose calls go on before they are complete, and the families of the streams that are checked. */
const GROWING = 'openai-chat, growing';
const GROWING_FAMILIES = [
  'hermes',
  'mistral-args',
  'qwen3-coder',
  'glm',
  'lfm2',
  'harmony',
  'native',
  'reasoning',
];
const OLLAMA_FAMILIES = [
  'hermes',
  'mistral',
  'pythonic',
  'qwen3-coder',
  'kimi',
  'harmony',
  'deepseek',
  'native',
  'reasoning',
];
const FAULTS = ['status-429', 'status-500', 'breaks-off', 'error-event'];
const BEGUN = ['breaks-off', 'error-event'];

const counts = { passed: 0, failed: 0 };

/** Runs one case, which returns its differences, and prints its line. */
async function report(name, run) {
  let differences;
  try {
    differences = await run();
  } catch (thrown) {
    differences = [thrown.stack ?? String(thrown)];
  }
  const passed = differences.length === 0;
  counts[passed ? 'passed' : 'failed'] += 1;
  console.log([`${passed ? 'ok  ' : 'FAIL'} ${name}`, ...differences.map((one) => `    ${one}`)].join('\n'));
}

const upstream = await startUpstream();
const urls = {};
const proxy = async (kind, ...options) =>
  (await startProxy(program, `${kind}=${upstream.url}`, ...options)).url;
for (const kind of READ) urls[kind] = await proxy(kind, '--call-format', 'auto');
for (const kind of ['anthropic', 'openai-responses']) urls[kind] = await proxy(kind);
urls[FORWARDED.chat] = await proxy('openai-chat');
urls[GROWING] = await proxy('openai-chat', '--call-format', 'auto', '--growing-arguments');

/** The servers at which a client's errors are checked. */
const faulty = (wire) => [...READ, FORWARDED[wire]];
const modelOf = (...names) => `${names[0]}@${names.slice(1).join('/').replaceAll(/[ ,]+/g, '-')}`;

/** The servers and families of conversations, by whether the client streams. */
const familiesOf = (isStream) => [
  ...NAMES.map((family) => ['openai-chat', family]),
  ...OLLAMA_FAMILIES.map((family) => ['ollama', family]),
  ...(isStream ? GROWING_FAMILIES.map((family) => [GROWING, family]) : []),
];

/** Every case of a client of npm. */
function* casesOf(client) {
  const name = `js ${client.name}`;
  for (const [kind, family] of familiesOf(client.isStream)) {
    const setup = { url: urls[kind], model: modelOf(family, kind, name), maxRetries: 0 };
    yield () =>
      report(`${name}: ${family} of ${kind}`, async () => {
        const seen = await client.converse(setup);
        return judgeConversation({ client, family, kind, seen, requests: upstream.requests(setup.model) });
      });
  }
  for (const kind of faulty(client.wire)) {
    for (const [fault, maxRetries] of [
      ...FAULTS.map((one) => [one, 0]),
      ...BEGUN.map((one) => [one, undefined]),
    ]) {
      // Only a stream has events.
      if (fault === 'error-event' && !client.isStream && !READ.includes(kind)) continue;
      const retries = maxRetries === 0 ? 'no' : 'default';
      const setup = { url: urls[kind], model: modelOf(fault, kind, name, retries), maxRetries };
      yield () =>
        report(`${name}: ${fault} of ${kind}, ${retries} retries`, async () => {
          const thrown = await client.fail(setup).then(() => null, described);
          return judgeFault({
            client,
            fault,
            kind,
            retries,
            thrown,
            requests: upstream.requests(setup.model),
          });
        });
    }
  }
}

async function checkNpm() {
  const cases = CLIENTS.flatMap((client) => [...casesOf(client)]);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = cases.shift(); next; next = cases.shift()) await next();
    }),
  );
}

/** Runs the clients of PyPI, which report what they saw. */
async function checkPython() {
  const plan = {
    urls,
    read: READ,
    streamed: familiesOf(true),
    whole: familiesOf(false),
    faulty: Object.fromEntries(Object.keys(FORWARDED).map((wire) => [wire, faulty(wire)])),
    faults: FAULTS,
    begun: BEGUN,
  };
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'clients.py');
  await report('python', async () => {
    for await (const line of linesOf(python, [script, JSON.stringify(plan)])) {
      await report(`py ${line.name}`, async () => {
        if (line.problem) return [line.problem];
        const about = { ...line, requests: upstream.requests(line.model) };
        if (line.seen) return judgeConversation(about);
        return line.fault ? judgeFault(about) : [];
      });
    }
    return [];
  });
}

await Promise.all([
  checkNpm(),
  checkPython(),
  checkPassthrough({ urls, upstream, report }),
  checkLocalModel({ program, report }),
]);
upstream.close();
console.log(`gateway: ${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
