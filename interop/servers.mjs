// The local servers: aimock, a recording proxy, and `tokenline replay`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LLMock } from '@copilotkit/aimock';

/**
 * Starts aimock with the cases as fixtures: the prompt of a request names its case. Cases with the same name and a `turn`
 * follow each other, from 0. `journal(name)` returns the requests for a case so far, as aimock reads them.
 */
export async function startAimock(cases) {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  for (const { name, response, options, turn } of cases) {
    const match = { userMessage: new RegExp(`^${name}$`) };
    mock.on(turn === undefined ? match : { ...match, sequenceIndex: turn }, response, options);
  }
  await mock.start();
  const isOf = (name) => (entry) => entry.body?.messages.some(({ content }) => content === name);
  const journal = (name) => mock.getRequests().filter(isOf(name));
  return { url: mock.url, journal, close: () => mock.stop() };
}

/** Starts a server on a free port that handles requests with `handler`. */
export async function startServer(handler) {
  const server = http.createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Starts a proxy that forwards every byte as it comes, and broken connections, too. It keeps the `requests` and the last
 * response: `taken()` resolves to { status, body, broken, endedAt }.
 */
export async function startTee(target) {
  let taken;
  const requests = [];
  const { hostname, port } = new URL(target);
  const server = await startServer((request, response) => {
    const note = noted(request);
    requests.push(note);
    const kept = [];
    let settle;
    taken = new Promise((resolve) => (settle = resolve));
    const upstream = http.request({
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: request.headers,
    });
    let status = 0;
    let broken = false;
    const end = () => settle({ status, body: Buffer.concat(kept), broken, endedAt: performance.now() });
    const breakOff = async () => {
      broken = true;
      end();
      // A reset discards data that the client has not read yet; give it time to read.
      await sleep(25);
      response.destroy();
    };
    upstream.on('error', breakOff);
    upstream.on('response', (incoming) => {
      status = incoming.statusCode;
      response.writeHead(status, incoming.headers);
      response.flushHeaders();
      incoming.on('data', (piece) => {
        kept.push(piece);
        response.write(piece);
      });
      incoming.on('end', () => {
        end();
        response.end();
      });
      incoming.on('error', breakOff); // also emitted for a body that ends early
    });
    response.on('close', () => {
      if (broken || response.writableFinished) return;
      note.left = true;
      upstream.destroy();
    });
    request.pipe(upstream);
  });
  return { ...server, taken: () => taken, requests };
}

/**
 * A request as { method, path, headers, pieces, at, left }: `pieces` of its body are added as they come; `left` is true if
 * the client disconnected before the end of the response.
 */
function noted(request) {
  const { method, url: path, headers } = request;
  const note = { method, path, headers, pieces: [], at: performance.now(), left: false };
  request.on('data', (piece) => note.pieces.push(piece));
  return note;
}

/** The running programs. */
export const children = new Set();

/** Starts `tokenline replay` on a free port. Its first line of output is its URL. */
export async function startReplay(program, files, pace) {
  const child = spawn(program, ['replay', '--listen', '127.0.0.1:0', ...pace, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let complaint = '';
  child.stderr.on('data', (piece) => (complaint += piece));
  const lines = createInterface({ input: child.stdout });
  const url = await Promise.race([
    once(lines, 'line').then(([line]) => line),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`replay ended with ${code}: ${complaint}`)),
    ),
    once(child, 'error').then(([error]) => Promise.reject(error)),
    sleep(10_000, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('replay printed no address')),
    ),
  ]);
  return {
    url,
    async close() {
      const gone = once(child, 'exit');
      child.kill('SIGINT');
      if (!(await Promise.race([gone, sleep(3_000, null, { ref: false })]))) child.kill('SIGKILL');
      children.delete(child);
    },
  };
}

/** Kills the programs that are still running. */
export function killChildren() {
  for (const child of children) child.kill('SIGKILL');
}
