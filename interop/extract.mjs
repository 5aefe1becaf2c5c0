// Part 3: `tokenline extract` asks for itself. aimock answers, a proxy counts and keeps what is sent.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { show } from './compare.mjs';
import { ECHOES } from './echoes.mjs';
import { ANSWERS, FAILURES, RECORDS, SCHEMA, SHORT, SLOW, WAITING, written } from './extract-cases.mjs';
import { REQUEST_CASES, TOOLS, checkRequests } from './requests.mjs';
import { SDKS } from './sdks/index.mjs';
import { startAimock, startServer, startTee } from './servers.mjs';
import { KEY, KEY_VARIABLES, extract, parse } from './tokenline.mjs';

/** Every provider for itself, side by side: they mostly wait, for each other's pieces and between two tries. */
export async function checkExtract(program, directory, report) {
  await Promise.all(
    SDKS.map((sdk) => checkProvider({ program, sdk, provider: sdk.provider, directory }, report)),
  );
}

async function checkProvider({ directory, ...rest }, report) {
  const { provider } = rest;
  const own = path.join(directory, `extract-${provider}`);
  mkdirSync(own, { recursive: true });
  const suits = ({ only }) => only?.includes(provider) ?? true;
  const quick = [...ANSWERS, ...FAILURES].filter(suits);
  const all = [...quick, ...WAITING, ...Object.values(SLOW).filter(suits)];
  const aimock = await startAimock([...all.flatMap((one) => fixtures(one, provider)), ...REQUEST_CASES]);
  const setup = { ...rest, directory: own, aimock, files: { tools: TOOLS, schema: SCHEMA } };
  for (const [name, value] of Object.entries(setup.files)) {
    setup.files[name] = path.join(own, `${name}.json`);
    writeFileSync(setup.files[name], JSON.stringify(value));
  }
  const check = (one) => report(`extract ${provider} ${one.name}`, () => checkCase(setup, one));
  try {
    const waiting = Promise.all(WAITING.map(check));
    await checkRequests(setup, report);
    for (const one of quick) await check(one);
    await waiting;
    for (const one of [SLOW.records, SLOW.calls].filter(suits)) {
      await report(`extract ${provider} ${one.name}`, () => checkSlow(setup, one));
    }
    await report(`extract ${provider} ${SLOW.interrupted.name}`, () =>
      checkInterrupted(setup, SLOW.interrupted),
    );
    await report(`extract ${provider} nobody-there`, () => checkNobody(setup));
    await checkKeys(setup, report);
  } finally {
    await aimock.close();
  }
}

/** What aimock is to say: once, or turn by turn. */
function fixtures({ name, turns, response, options }, provider) {
  if (turns) return turns.map((one, turn) => ({ name, turn, ...one }));
  return [{ name, response, options: typeof options === 'function' ? options(provider) : options }];
}

/**
 * Asks aimock through a proxy. Beside what `extract` gives, `requests` has what was sent, `answer` the last response,
 * `journaled` how many requests aimock counts.
 */
async function ask(setup, one, { onOutput } = {}) {
  const { provider, aimock, files } = setup;
  const args = typeof one.args === 'function' ? one.args(files) : (one.args ?? []);
  const tee = await startTee(aimock.url);
  const startedAt = performance.now();
  try {
    const said = ['--model', `mock-${provider}`, '--prompt', one.name, ...args];
    const seen = await extract(setup, tee.url, said, { onOutput });
    const journaled = aimock.journal(one.name).length;
    return { ...seen, startedAt, requests: tee.requests, journaled, answer: await tee.taken() };
  } finally {
    tee.close();
  }
}

async function checkCase(setup, one) {
  const seen = await ask(setup, one);
  const out = one.out === 'received' ? await received(setup, seen) : one.out;
  const differences = [...unmeant(setup, seen, { ...one, out }), ...hasty(seen, one.waits ?? [])];
  const { journaled = seen.requests.length } = one;
  if (seen.journaled !== journaled) differences.push(`aimock counts ${seen.journaled} requests`);
  if (out?.length < one.least) differences.push(`${out.length} lines, meant ${one.least} at least`);
  return { differences, note: note(seen) };
}

/** The records in the bytes that came, as `tokenline parse` has them, which part 1 holds against the SDKs. */
async function received({ program, provider }, { answer }) {
  const { records } = await parse(program, provider, answer.body);
  return records.map((record) => JSON.stringify(record));
}

/** What a run has that is not as it was meant, or that disagrees with itself. `codes` of null are not looked at. */
function unmeant({ provider }, seen, { exit = 0, out = [], codes = [], says = [], requests = 1 }) {
  const differences = seen.leaks.map((place) => `the key is in ${place}`);
  const differ = (what, meant, is) => {
    if (!isDeepStrictEqual(meant, is)) differences.push(`${what}: meant ${show(meant)}, is ${show(is)}`);
  };
  const here = (value) => (typeof value === 'function' ? value(provider) : value);
  const lines = here(out);
  differ('exit', exit, seen.exit);
  differ('output', lines.map((line) => `${line}\n`).join(''), seen.out);
  differ('requests', requests, seen.requests.length);
  const { complete, records, tool_calls: calls, diagnostics } = seen.report || { diagnostics: [] };
  // Records beside calls are counted, but not written.
  differ('counted', lines.length, calls || records);
  differ('complete', exit < 2, complete);
  const found = diagnostics.map(({ code }) => code);
  if (codes) differ('codes', here(codes), found);
  for (const words of says) if (!seen.complaint.includes(words)) differ('said', words, seen.complaint);
  if (exit === 3 && !seen.complaint.includes('tokenline: ')) differ('said', 'why', seen.complaint);
  if (differences.length > 0) differences.push(`standard error: ${seen.complaint.trim()}`);
  return differences;
}

/** Requests that came before it was time. */
function hasty({ requests }, waits) {
  const waited = requests.slice(1).map(({ at }, index) => at - requests[index].at);
  // Two clocks, two roundings.
  const isHasty = waits.some((wait, index) => !(waited[index] >= wait - 5));
  return isHasty ? [`waited for ${waited.map(Math.round)} ms, not ${waits} at least`] : [];
}

/** What of standard error is told in a case's line. */
function note({ complaint, exit }) {
  const last = complaint.trim().split('\n').at(-1);
  return exit === 3 ? last.replace(/ \(.*|^tokenline: /g, '') : '';
}

/** The first line must be out while the server is far from its end. */
async function checkSlow(setup, one) {
  const seen = await ask(setup, one);
  const out = one.response.content?.split('\n') ?? written(one.response.blocks);
  const differences = unmeant(setup, seen, { out });
  const [first, end] = [seen.firstAt - seen.startedAt, seen.endedAt - seen.startedAt].map(Math.round);
  const rest = seen.answer.endedAt - seen.firstAt;
  if (!(rest > 150))
    differences.push(`the first line came ${Math.round(rest)} ms before the server's last byte`);
  return { differences, note: `first line after ${first} ms, end after ${end} ms` };
}

/** Ctrl-C in the middle: what is complete was written, the connection is closed, nothing is asked again. */
async function checkInterrupted(setup, one) {
  let pieces = 0;
  const onOutput = (child) => (pieces += 1) === 3 && child.kill('SIGINT');
  const seen = await ask(setup, one, { onOutput });
  const count = seen.out.split('\n').length - 1;
  const differences = unmeant(setup, seen, {
    exit: 3,
    out: SHORT.slice(0, count),
    codes: null,
    says: ['interrupted'],
  });
  if (count < 3 || count === SHORT.length) differences.push(`${count} lines`);
  if (!seen.requests[0]?.left) differences.push('the server was not left');
  return { differences, note: `${count} of ${SHORT.length} lines` };
}

/** Where nothing listens, connecting is tried again. */
async function checkNobody(setup) {
  const gone = await startServer(() => {});
  gone.close();
  const seen = await extract(setup, gone.url, ['--model', 'none', '--prompt', 'none', '--retries', '1']);
  const says = ['cannot connect to', '2 attempts'];
  return {
    differences: unmeant(setup, { ...seen, requests: [] }, { exit: 3, says, requests: 0 }),
    note: note(seen),
  };
}

/** The header in which each provider wants its key. */
const KEY_HEADERS = {
  'openai-chat': ['authorization', `Bearer ${KEY}`],
  'openai-responses': ['authorization', `Bearer ${KEY}`],
  anthropic: ['x-api-key', KEY],
  gemini: ['x-goog-api-key', KEY],
  ollama: ['authorization', `Bearer ${KEY}`],
};

/** The key goes to the server, in its header alone, and comes back from nowhere. */
async function checkKeys(setup, report) {
  const { provider } = setup;
  const given = KEY_VARIABLES[provider].map((variable) => ({
    variable,
    args: [],
    sent: [KEY_HEADERS[provider]],
  }));
  const own = { variable: 'MY_KEY', args: ['--api-key-env', 'MY_KEY'], sent: [KEY_HEADERS[provider]] };
  for (const one of [...given, own, { variable: 'MY_KEY', args: [], sent: [] }]) {
    await report(`extract ${provider} key in ${one.variable} ${one.args}`.trim(), () => checkKey(setup, one));
  }
  for (const [name, echo] of Object.entries(ECHOES)) {
    await report(`extract ${provider} key repeated, ${name}`, () => checkEcho(setup, echo));
  }
}

async function checkKey(setup, { variable, args, sent }) {
  const tee = await startTee(setup.aimock.url);
  try {
    const said = ['--model', `mock-${setup.provider}`, '--prompt', 'records', ...args];
    const seen = await extract(setup, tee.url, said, { variable });
    const [{ headers, path: to, pieces }] = tee.requests;
    const found = Object.entries(headers).filter(([, value]) => value.includes(KEY));
    const differences = unmeant(setup, { ...seen, requests: tee.requests }, { out: RECORDS });
    if (!isDeepStrictEqual(found, sent)) differences.push(`headers: meant ${show(sent)}, are ${show(found)}`);
    if (`${to}${Buffer.concat(pieces)}`.includes(KEY)) differences.push('the key is in the URL or the body');
    return { differences };
  } finally {
    tee.close();
  }
}

/** A server that says the key again: `echo` gives its status, headers and body. */
async function checkEcho(setup, { answer, out = [], says = [], codes }) {
  const requests = [];
  const server = await startServer((request, response) => {
    requests.push(request.url);
    request.resume();
    const [status, headers, body] = answer(setup.provider);
    response.writeHead(status, headers).end(body);
  });
  try {
    // Everything there is to be seen is asked for.
    const args = ['--model', 'none', '--prompt', 'none'];
    const seen = await extract(setup, server.url, args);
    const events = await extract(setup, server.url, [...args, '--emit', 'events']);
    const differences = unmeant(setup, { ...seen, requests }, { exit: 3, out, says, codes, requests: 2 });
    differences.push(...events.leaks.map((place) => `the key is in ${place} of the events`));
    if (events.exit !== 3) differences.push(`events: exit ${events.exit}`);
    return { differences, note: note(seen) };
  } finally {
    server.close();
  }
}
