// The programs that run meanwhile: the proxy, and the Python clients.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const children = new Set();

/** Starts `tokenline proxy` on a free port. Its first line of output is its URL. */
export async function startProxy(program, upstream, ...options) {
  const child = start(program, ['proxy', '--upstream', upstream, '--listen', '127.0.0.1:0', ...options]);
  let log = '';
  child.stderr.on('data', (piece) => (log += piece));
  const lines = createInterface({ input: child.stdout });
  const url = await Promise.race([
    once(lines, 'line').then(([line]) => line),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the proxy ended with ${code}: ${log}`))),
    sleep(10_000, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('the proxy printed no address')),
    ),
  ]);
  return { url, log: () => log };
}

/** Runs a program, and yields the JSON of every line that it writes. */
export async function* linesOf(program, parameters) {
  const child = start(program, parameters);
  let complaint = '';
  child.stderr.on('data', (piece) => (complaint += piece));
  const ended = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line);
  const [code] = await ended;
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaint}`);
}

function start(program, parameters) {
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

/** Ends the programs that are still running. */
export function killChildren() {
  for (const child of children) child.kill('SIGKILL');
}
