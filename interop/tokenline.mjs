// Runs `tokenline parse`, whose events it collects into a response, `tokenline extract` and `tokenline chat-analysis`.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { children } from './servers.mjs';

/** Parses a body. The result has the form of an SDK's response, with `exit`, `records` and `rejected` in addition. */
export async function parse(program, provider, body, options = []) {
  const { exit, out, complaint } = await run(
    program,
    ['parse', '--from', provider, '--emit', 'events', ...options],
    { input: body },
  );
  const response = {
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
    // Only the first choice is requested and compared.
    if ((event.choice ?? 0) === 0) add(response, event);
  }
  return response;
}

function add(response, event) {
  switch (event.event) {
    case 'reasoning':
      if (event.opaque !== undefined) response.opaque.push(...opaqueTexts(event.opaque));
      else response.reasoning += event.text;
      break;
    case 'text':
    case 'refusal':
      response[event.event] += event.text;
      break;
    case 'tool_call': {
      const { name, parameters, call_id: id } = event.value;
      response.calls.push({ id, name, arguments: parameters });
      break;
    }
    case 'record':
      response.records.push(event.value);
      break;
    case 'rejected':
      response.rejected.push(event.code);
      break;
    case 'finish':
      response.reason = event.reason;
      break;
    case 'usage':
      // A later event has more counts.
      response.usage = [event.input_tokens ?? response.usage?.[0], event.output_tokens ?? response.usage?.[1]];
      break;
    default: // notes and other events
  }
}

/** The opaque strings among the members of reasoning data. */
function opaqueTexts(attached) {
  const names = ['signature', 'data', 'thoughtSignature', 'encrypted_content', 'redactedContent'];
  return names.map((name) => attached[name]).filter((text) => typeof text === 'string');
}

/** The environment variables for a key, as in each provider's own tools. */
export const KEY_VARIABLES = {
  'openai-chat': ['OPENAI_API_KEY'],
  'openai-responses': ['OPENAI_API_KEY'],
  anthropic: ['ANTHROPIC_API_KEY'],
  gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  ollama: ['OLLAMA_API_KEY'],
};

/** A key that cannot be mistaken for another word or for a real key. */
export const KEY = 'sk-fake-Zx81/+=_k3y-of-nobody';
// Parts of the key must not leak, either.
const KEY_PARTS = Array.from({ length: KEY.length - 7 }, (_, at) => KEY.slice(at, at + 8));

/**
 * Runs `tokenline extract` with the server at `url` and a key in `variable`. The result is { exit, out, complaint, report,
 * leaks, firstAt, endedAt }: `report` is that of `--report-json`, `leaks` lists the outputs that contain the key or a part
 * of it; the times are those of `performance.now()`. `onOutput` is called with the process for each piece of output.
 */
export async function extract({ program, provider, directory }, url, args, { variable, onOutput } = {}) {
  const folder = mkdtempSync(path.join(directory, 'report-'));
  const file = path.join(folder, 'report.json');
  const ended = await run(
    program,
    ['extract', '--provider', provider, '--base-url', url, '--report-json', file, ...args],
    // A clean environment, without keys and proxies, and with all logging on.
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
    child.stdin.on('error', () => {}); // with bad arguments the program does not read its input
    child.stdin.end(input);
  });
}
