// The programs that run meanwhile: the proxy, the Python clients, and a real model.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const children = new Set();

/** Starts `tokenline proxy` on a free port. Its first line of output is its URL. */
export async function startProxy(program, upstream, ...options) {
  const child = start(program, ['proxy', '--upstream', upstream, '--listen', '127.0.0.1:0', ...options]);
  let log = '';
  child.stderr.on('data', (piece) => (log += piece));
  return { url: await firstLine(child, () => log), log: () => log };
}

/** Starts the model of `scripts/local-model`. Returns its URL, or nothing if it is not installed. */
export async function startModel() {
  const home = process.env.TOKENLINE_LOCAL_MODEL_DIR ?? path.join(homedir(), '.cache/tokenline/local-model');
  if (!existsSync(path.join(home, 'installed.txt'))) return null;
  const child = start(fileURLToPath(new URL('../../scripts/local-model', import.meta.url)), ['serve']);
  let log = '';
  child.stderr.on('data', (piece) => (log += piece));
  return firstLine(child, () => log);
}

/** The first line of a server's output. */
async function firstLine(child, log) {
  const lines = createInterface({ input: child.stdout });
  const ended = (code) => Promise.reject(new Error(`${child.spawnfile} ended with ${code}: ${log()}`));
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => ended(code)),
    sleep(60_000, undefined, { ref: false }).then(() => ended('no address')),
  ]);
  return line;
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
