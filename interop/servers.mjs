// The servers on this machine: aimock, a proxy that writes down what it sent, and `tokenline replay`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LLMock } from '@copilotkit/aimock';

/** Starts aimock with the cases as fixtures: a request gets the case its prompt names. */
export async function startAimock(cases) {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  for (const { name, response, options } of cases) {
    mock.on({ userMessage: new RegExp(`^${name}$`) }, response, options);
  }
  await mock.start();
  return { url: mock.url, close: () => mock.stop() };
}

/**
 * Starts a proxy that passes every byte on as it comes, also where the other side breaks off, and keeps the last
 * response's: `taken()` is { status, body, broken }.
 */
export async function startTee(target) {
  let taken;
  const { hostname, port } = new URL(target);
  const server = http.createServer((request, response) => {
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
    const breakOff = async () => {
      settle({ status, body: Buffer.concat(kept), broken: true });
      // A reset makes a client forget what it has not read yet; give it the time to read.
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
        settle({ status, body: Buffer.concat(kept), broken: false });
        response.end();
      });
      incoming.on('error', breakOff); // a body that ends before its end is an error here
    });
    request.pipe(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    taken: () => taken,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const children = new Set();

/** Starts `tokenline replay` on a free port; its first line of output is its address. */
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

/** Ends what is still running, when there is no time left to ask. */
export function killChildren() {
  for (const child of children) child.kill('SIGKILL');
}
