// Part 3: `tokenline extract` sends requests to aimock, through a proxy that counts and keeps them.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { show } from './compare.mjs';
import { ECHOES } from './echoes.mjs';
import { RESPONSES, FAILURES, RECORDS, SCHEMA, SHORT, SLOW, WAITING, written } from './extract-cases.mjs';
import { REQUEST_CASES, TOOLS, checkRequests } from './requests.mjs';
import { SDKS } from './sdks/index.mjs';
import { startAimock, startServer, startTee } from './servers.mjs';
import { KEY, KEY_VARIABLES, extract, parse } from './tokenline.mjs';

/** Checks the providers concurrently: most of the time is spent waiting for chunks and between retries. */
export async function checkExtract(program, directory, report) {
  await Promise.all(
    SDKS.map((sdk) => checkProvider({ program, sdk, provider: sdk.provider, directory }, report)),
  );
}

async function checkProvider({ directory, ...rest }, report) {
  const { provider } = rest;
  const own = path.join(directory, `extract-${provider}`);
  mkdirSync(own, { recursive: true });
  const isFor = ({ only }) => only?.includes(provider) ?? true;
  const quick = [...RESPONSES, ...FAILURES].filter(isFor);
  const all = [...quick, ...WAITING, ...Object.values(SLOW).filter(isFor)];
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
    for (const one of [SLOW.records, SLOW.calls].filter(isFor)) {
      await report(`extract ${provider} ${one.name}`, () => checkSlow(setup, one));
    }
    await report(`extract ${provider} ${SLOW.interrupted.name}`, () =>
      checkInterrupted(setup, SLOW.interrupted),
    );
    await report(`extract ${provider} no-server`, () => checkNoServer(setup));
    await checkKeys(setup, report);
  } finally {
    await aimock.close();
  }
}

/** The responses of aimock: one, or one per turn. */
function fixtures({ name, turns, response, options }, provider) {
  if (turns) return turns.map((one, turn) => ({ name, turn, ...one }));
  return [{ name, response, options: typeof options === 'function' ? options(provider) : options }];
}

/**
 * Runs `extract` with aimock through a proxy. Adds to its result the sent `requests`, the last `response`, and the number of
 * requests that aimock counts, `journaled`.
 */
async function ask(setup, one, { onOutput } = {}) {
  const { provider, aimock, files } = setup;
  const args = typeof one.args === 'function' ? one.args(files) : (one.args ?? []);
  const tee = await startTee(aimock.url);
  const startedAt = performance.now();
  try {
    const all = ['--model', `mock-${provider}`, '--prompt', one.name, ...args];
    const seen = await extract(setup, tee.url, all, { onOutput });
    const journaled = aimock.journal(one.name).length;
    return { ...seen, startedAt, requests: tee.requests, journaled, response: await tee.taken() };
  } finally {
    tee.close();
  }
}

async function checkCase(setup, one) {
  const seen = await ask(setup, one);
  const out = one.out === 'received' ? await received(setup, seen) : one.out;
  const differences = [...mismatches(setup, seen, { ...one, out }), ...earlyRetries(seen, one.waits ?? [])];
  const { journaled = seen.requests.length } = one;
  if (seen.journaled !== journaled) differences.push(`aimock counts ${seen.journaled} requests`);
  if (out?.length < one.least) differences.push(`expected at least ${one.least} lines, got ${out.length}`);
  return { differences, note: note(seen) };
}

/** The records that `tokenline parse` finds in the received bytes. Part 1 compares it with the SDKs. */
async function received({ program, provider }, { response }) {
  const { records } = await parse(program, provider, response.body);
  return records.map((record) => JSON.stringify(record));
}

/** The unexpected or inconsistent parts of a run. Codes are not checked if `codes` is null. */
function mismatches({ provider }, seen, { exit = 0, out = [], codes = [], says = [], requests = 1 }) {
  const differences = seen.leaks.map((place) => `the key is in ${place}`);
  const differ = (name, expected, actual) => {
    if (isDeepStrictEqual(expected, actual)) return;
    differences.push(`${name}: expected ${show(expected)}, got ${show(actual)}`);
  };
  const resolved = (value) => (typeof value === 'function' ? value(provider) : value);
  const lines = resolved(out);
  differ('exit', exit, seen.exit);
  differ('output', lines.map((line) => `${line}\n`).join(''), seen.out);
  differ('requests', requests, seen.requests.length);
  const { complete, records, tool_calls: calls, diagnostics } = seen.report || { diagnostics: [] };
  // Records next to calls are counted, but not written.
  differ('counted', lines.length, calls || records);
  differ('complete', exit < 2, complete);
  const reported = diagnostics.map(({ code }) => code);
  if (codes) differ('codes', resolved(codes), reported);
  for (const words of says) if (!seen.complaint.includes(words)) differ('standard error', words, seen.complaint);
  if (exit === 3 && !seen.complaint.includes('tokenline: ')) differ('standard error', 'a reason', seen.complaint);
  if (differences.length > 0) differences.push(`standard error: ${seen.complaint.trim()}`);
  return differences;
}

/** Retries that came too early. */
function earlyRetries({ requests }, waits) {
  const waited = requests.slice(1).map(({ at }, index) => at - requests[index].at);
  // Allow for the rounding of two clocks.
  const isEarly = waits.some((wait, index) => !(waited[index] >= wait - 5));
  return isEarly ? [`waited for ${waited.map(Math.round)} ms, expected at least ${waits}`] : [];
}

/** The part of standard error to print in a case's line. */
function note({ complaint, exit }) {
  const last = complaint.trim().split('\n').at(-1);
  return exit === 3 ? last.replace(/ \(.*|^tokenline: /g, '') : '';
}

/** The first line must be written long before the server has sent everything. */
async function checkSlow(setup, one) {
  const seen = await ask(setup, one);
  const out = one.response.content?.split('\n') ?? written(one.response.blocks);
  const differences = mismatches(setup, seen, { out });
  const [first, end] = [seen.firstAt - seen.startedAt, seen.endedAt - seen.startedAt].map(Math.round);
  const rest = seen.response.endedAt - seen.firstAt;
  if (!(rest > 150))
    differences.push(`the first line came ${Math.round(rest)} ms before the server's last byte`);
  return { differences, note: `first line after ${first} ms, end after ${end} ms` };
}

/** Ctrl-C in the middle: complete records are written, the connection is closed, nothing is retried. */
async function checkInterrupted(setup, one) {
  let pieces = 0;
  const onOutput = (child) => (pieces += 1) === 3 && child.kill('SIGINT');
  const seen = await ask(setup, one, { onOutput });
  const count = seen.out.split('\n').length - 1;
  const differences = mismatches(setup, seen, {
    exit: 130,
    out: SHORT.slice(0, count),
    codes: null,
    says: ['interrupted'],
  });
  if (count < 3 || count === SHORT.length) differences.push(`${count} lines`);
  if (!seen.requests[0]?.left) differences.push('the connection was not closed');
  return { differences, note: `${count} of ${SHORT.length} lines` };
}

/** A failed connection is retried. */
async function checkNoServer(setup) {
  // A port that was just free may soon be that of another provider's server. Nobody is given the first one.
  const seen = await extract(setup, 'http://127.0.0.1:1', ['--model', 'none', '--prompt', 'none', '--retries', '1']);
  const says = ['cannot connect to', '2 attempts'];
  return {
    differences: mismatches(setup, { ...seen, requests: [] }, { exit: 3, says, requests: 0 }),
    note: note(seen),
  };
}

/** The header in which each provider expects its key. */
const KEY_HEADERS = {
  'openai-chat': ['authorization', `Bearer ${KEY}`],
  'openai-responses': ['authorization', `Bearer ${KEY}`],
  anthropic: ['x-api-key', KEY],
  gemini: ['x-goog-api-key', KEY],
  ollama: ['authorization', `Bearer ${KEY}`],
};

/** The key is sent only in its header, and appears in no output. */
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
    const all = ['--model', `mock-${setup.provider}`, '--prompt', 'records', ...args];
    const seen = await extract(setup, tee.url, all, { variable });
    const [{ headers, path: to, pieces }] = tee.requests;
    const received = Object.entries(headers).filter(([, value]) => value.includes(KEY));
    const differences = mismatches(setup, { ...seen, requests: tee.requests }, { out: RECORDS });
    if (!isDeepStrictEqual(received, sent))
      differences.push(`headers: expected ${show(sent)}, got ${show(received)}`);
    if (`${to}${Buffer.concat(pieces)}`.includes(KEY)) differences.push('the key is in the URL or the body');
    return { differences };
  } finally {
    tee.close();
  }
}

/** A server that repeats the key: `respond` returns its status, headers and body. */
async function checkEcho(setup, { respond, out = [], says = [], codes }) {
  const requests = [];
  const server = await startServer((request, response) => {
    requests.push(request.url);
    request.resume();
    const [status, headers, body] = respond(setup.provider);
    response.writeHead(status, headers).end(body);
  });
  try {
    // Check both kinds of output.
    const args = ['--model', 'none', '--prompt', 'none'];
    const seen = await extract(setup, server.url, args);
    const events = await extract(setup, server.url, [...args, '--emit', 'events']);
    const differences = mismatches(setup, { ...seen, requests }, { exit: 3, out, says, codes, requests: 2 });
    differences.push(...events.leaks.map((place) => `the key is in ${place} of the events`));
    if (events.exit !== 3) differences.push(`events: exit ${events.exit}`);
    return { differences, note: note(seen) };
  } finally {
    server.close();
  }
}
