// Runs `tokenline parse` and gathers its events into an answer, `tokenline extract`, and `tokenline chat-analysis`.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { children } from './servers.mjs';

/** Parses a body; the result is shaped like an SDK's answer, with `exit`, `records` and `rejected` beside it. */
export async function parse(program, provider, body, options = []) {
  const { exit, out, complaint } = await run(
    program,
    ['parse', '--from', provider, '--emit', 'events', ...options],
    { input: body },
  );
  const answer = {
    text: '',
    reasoning: '',
    refusal: '',
    opaque: [],
    calls: [],
    records: [],
    rejected: [],
    reason: null,
    usage: null,
    exit,
    complaint,
  };
  for (const line of out.split('\n')) {
    if (line === '') continue;
    const event = JSON.parse(line);
    // The harness asks for one choice and compares one.
    if ((event.choice ?? 0) === 0) add(answer, event);
  }
  return answer;
}

function add(answer, event) {
  switch (event.event) {
    case 'reasoning':
      if (event.opaque !== undefined) answer.opaque.push(...opaqueTexts(event.opaque));
      else answer.reasoning += event.text;
      break;
    case 'text':
    case 'refusal':
      answer[event.event] += event.text;
      break;
    case 'tool_call': {
      const { name, parameters, call_id: id } = event.value;
      answer.calls.push({ id, name, arguments: parameters });
      break;
    }
    case 'record':
      answer.records.push(event.value);
      break;
    case 'rejected':
      answer.rejected.push(event.code);
      break;
    case 'finish':
      answer.reason = event.reason;
      break;
    case 'usage':
      // Said more than once, the later one says more.
      answer.usage = [event.input_tokens ?? answer.usage?.[0], event.output_tokens ?? answer.usage?.[1]];
      break;
    default: // notes, and what is still in progress
  }
}

/** What only the provider can read, of the members it attached to a part, or of the whole item. */
function opaqueTexts(attached) {
  const names = ['signature', 'data', 'thoughtSignature', 'encrypted_content', 'redactedContent'];
  return names.map((name) => attached[name]).filter((text) => typeof text === 'string');
}

/** The variable that gives a key, in each provider's own tools. */
export const KEY_VARIABLES = {
  'openai-chat': ['OPENAI_API_KEY'],
  'openai-responses': ['OPENAI_API_KEY'],
  anthropic: ['ANTHROPIC_API_KEY'],
  gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  ollama: ['OLLAMA_API_KEY'],
};

/** A key that nobody would mistake for another word, or for a real one. */
export const KEY = 'sk-fake-Zx81/+=_k3y-of-nobody';
// Half of it is too much, too.
const KEY_PARTS = Array.from({ length: KEY.length - 7 }, (_, at) => KEY.slice(at, at + 8));

/**
 * Asks the server at `url`, with a key in `variable`. The result is { exit, out, complaint, report, leaks, firstAt,
 * endedAt }: `report` is that of `--report-json`, `leaks` says where the key, or some of it, can be read; the times are
 * on the clock of `performance.now()`. `onOutput` is called with the process for each piece of output.
 */
export async function extract({ program, provider, directory }, url, args, { variable, onOutput } = {}) {
  const folder = mkdtempSync(path.join(directory, 'report-'));
  const file = path.join(folder, 'report.json');
  const ended = await run(
    program,
    ['extract', '--provider', provider, '--base-url', url, '--report-json', file, ...args],
    // Nothing of this machine's: no key, no proxy. Whatever could be logged is.
    {
      env: { [variable ?? KEY_VARIABLES[provider][0]]: KEY, RUST_LOG: 'trace', RUST_BACKTRACE: '1' },
      onOutput,
    },
  );
  const report = existsSync(file) ? readFileSync(file, 'utf8') : '';
  rmSync(folder, { recursive: true });
  const places = { 'standard output': ended.out, 'standard error': ended.complaint, 'the report': report };
  const leaks = Object.keys(places).filter((place) => KEY_PARTS.some((part) => places[place].includes(part)));
  return { ...ended, report: report && JSON.parse(report), leaks };
}

/** Runs `tokenline chat-analysis`; the result is { exit, out, complaint, firstAt, endedAt }. */
export function chatAnalysis(program, args, input = '') {
  return run(program, ['chat-analysis', ...args], { input, env: {} });
}

function run(program, args, { input, env, onOutput } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', timeout: 20_000, env });
    let out = '';
    let complaint = '';
    let firstAt = null;
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      firstAt ??= performance.now();
      out += piece;
      onOutput?.(child);
    });
    child.stderr.setEncoding('utf8').on('data', (piece) => (complaint += piece));
    child.on('error', reject);
    children.add(child);
    child.on('close', (code, signal) => {
      children.delete(child);
      resolve({ exit: code ?? signal, out, complaint, firstAt, endedAt: performance.now() });
    });
    child.stdin.on('error', () => {}); // a program that refuses its arguments reads nothing
    child.stdin.end(input);
  });
}
