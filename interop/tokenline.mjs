// Runs `tokenline parse` and gathers its events into an answer.

import { spawn } from 'node:child_process';

/** Parses a body; the result is shaped like an SDK's answer, with `exit`, `records` and `rejected` beside it. */
export async function parse(program, provider, body, options = []) {
  const { exit, out, complaint } = await run(
    program,
    ['parse', '--from', provider, '--emit', 'events', ...options],
    body,
  );
  const answer = {
    text: '',
    reasoning: '',
    refusal: '',
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
    case 'text':
    case 'reasoning':
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

function run(program, args, input) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', timeout: 20_000 });
    let out = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (piece) => (out += piece));
    child.stderr.setEncoding('utf8').on('data', (piece) => (complaint += piece));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ exit: code ?? signal, out, complaint }));
    child.stdin.on('error', () => {}); // a program that refuses its arguments reads nothing
    child.stdin.end(input);
  });
}
