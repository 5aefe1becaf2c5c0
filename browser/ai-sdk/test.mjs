// The AI SDK's hooks in headless Chromium against the example program `chat`, and a model on a real socket.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';
import * as esbuild from 'esbuild';
import { chromium } from 'playwright-core';
import { gate, Model } from './model.mjs';

const { PROGRAM, CHROMIUM } = process.env;

let browser, page, model, server, script;
const programs = [];

/// Starts the program, and returns its address.
async function start(provider) {
  const env = { ...process.env, NO_PROXY: '127.0.0.1', OPENAI_API_KEY: 'sk-of-nobody', ANTHROPIC_API_KEY: 'sk-of-nobody' };
  const program = spawn(PROGRAM, [model.url, 'm', provider], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  programs.push(program);
  for await (const line of createInterface(program.stdout)) return line;
  throw new Error('the program has ended');
}

/// Opens the page, with the program's address as its own.
async function open(url) {
  await page?.close();
  page = await browser.newPage();
  page.on('pageerror', error => { throw error; });
  await page.route(`${url}/`, route => route.fulfill({ contentType: 'text/html', body: '<div id="root"></div><script src="/page.js"></script>' }));
  await page.route(`${url}/page.js`, route => route.fulfill({ contentType: 'text/javascript', body: script }));
  await page.goto(`${url}/`);
  await page.waitForSelector('#chat', { state: 'attached', timeout: 10_000 });
}

before(async () => {
  const built = await esbuild.build({
    entryPoints: [new URL('page.jsx', import.meta.url).pathname],
    bundle: true, write: false, format: 'iife', jsx: 'automatic', logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  script = built.outputFiles[0].text;
  model = await Model.start();
  server = await start('openai-chat');
  browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: ['--no-sandbox'] });
});

beforeEach(async () => {
  for (const list of [model.requests, model.failures, model.scripts]) list.length = 0;
  await open(server);
});

after(async () => {
  await browser?.close();
  for (const program of programs) program.kill();
  model?.close();
});

const send = text => page.evaluate(text => { window.turn = window.chat.sendMessage({ text }); }, text);

/// Waits for the end of the turn.
async function ended(expected = 'ready') {
  await page.evaluate(() => window.turn);
  await eventually(status, expected);
}

/// Waits until what `read` returns in the page equals a value.
async function eventually(read, expected, argument) {
  const started = performance.now();
  let seen;
  while (performance.now() - started < 5_000) {
    assert.deepEqual(model.failures, []);
    seen = await page.evaluate(read, argument);
    if (JSON.stringify(seen) === JSON.stringify(expected)) return performance.now() - started;
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  assert.deepEqual(seen, expected);
}

/// The parts of the last message that show something: kind, state and texts.
const parts = () => [...document.querySelectorAll('#chat article:last-of-type [data-part]:not(i)')].map(part => [
  part.dataset.part, part.dataset.state, ...[...part.childNodes].map(node => node.textContent),
].filter(text => text !== undefined && text !== ''));
const status = () => document.querySelector('#chat').dataset.status;
const error = () => document.querySelector('#chat .error:last-child').textContent;

test('text and reasoning appear while the stream is open', async t => {
  const [reasoning, text, end] = [gate(), gate(), gate()];
  model.next(async reply => {
    reply.reasoning('Hm');
    await reasoning.opened;
    reply.reasoning(', fjords.');
    reply.text('A fjord ');
    await text.opened;
    reply.text('is <b>deep</b>.');
    await end.opened;
    reply.finish('stop');
  });
  await send('What is a fjord?');
  await eventually(parts, [['reasoning', 'streaming', 'Hm']]);
  assert.equal(await page.evaluate(status), 'streaming');
  reasoning.open();
  await eventually(parts, [['reasoning', 'done', 'Hm, fjords.'], ['text', 'streaming', 'A fjord ']]);
  text.open();
  const shown = await eventually(parts, [['reasoning', 'done', 'Hm, fjords.'], ['text', 'streaming', 'A fjord is <b>deep</b>.']]);
  t.diagnostic(`from the model's socket to the page: ${shown.toFixed(0)} ms`);
  end.open();
  await ended();
  assert.deepEqual((await page.evaluate(parts))[1], ['text', 'done', 'A fjord is <b>deep</b>.']);
  assert.equal(await page.evaluate(error), '');
});

test('two parallel calls grow, run, and are in the next turn', async () => {
  const [first, second, end] = [gate(), gate(), gate()];
  model.next(async reply => {
    reply.text('I count.');
    reply.call(0, 'call_a', 'count', '{"text":"straw');
    reply.call(1, 'call_b', 'count', '{"text":"goose');
    await first.opened;
    reply.args(0, 'berry","letter":"r"}');
    reply.args(1, 'berry","letter":');
    await second.opened;
    reply.args(1, '"e"}');
    await end.opened;
    reply.finish('tool_calls');
  });
  model.next(async reply => {
    reply.text('Three and two.');
    reply.finish('stop');
  });
  await send('Count!');
  const said = ['text', 'done', 'I count.'];
  await eventually(parts, [
    said,
    ['tool-count', 'input-streaming', '{"text":"straw"}'],
    ['tool-count', 'input-streaming', '{"text":"goose"}'],
  ]);
  first.open();
  await eventually(() => [...document.querySelectorAll('[data-part="tool-count"] .input')].map(input => input.textContent), [
    '{"text":"strawberry","letter":"r"}', '{"text":"gooseberry"}',
  ]);
  second.open();
  end.open();
  const a = ['tool-count', 'output-available', '{"text":"strawberry","letter":"r"}', '{"count":3}'];
  const b = ['tool-count', 'output-available', '{"text":"gooseberry","letter":"e"}', '{"count":2}'];
  await ended();
  assert.deepEqual(await page.evaluate(parts), [said, a, b, ['text', 'done', 'Three and two.']]);

  // The agent's second request had the results; so has the next turn, which comes from the page.
  model.next(async reply => {
    reply.text('Yes.');
    reply.finish('stop');
  });
  await send('Sure?');
  await ended();
  const [, agent, turn] = model.requests.map(request => request.messages);
  assert.deepEqual(turn.slice(0, agent.length), agent);
  assert.deepEqual(agent.slice(1), [
    { role: 'assistant', content: 'I count.', tool_calls: [
      { id: 'call_a', type: 'function', function: { name: 'count', arguments: '{"text":"strawberry","letter":"r"}' } },
      { id: 'call_b', type: 'function', function: { name: 'count', arguments: '{"text":"gooseberry","letter":"e"}' } },
    ] },
    { role: 'tool', tool_call_id: 'call_a', content: '{"count":3}' },
    { role: 'tool', tool_call_id: 'call_b', content: '{"count":2}' },
  ]);
  assert.deepEqual(turn.slice(agent.length).map(({ role, content }) => [role, content]), [
    ['assistant', 'Three and two.'], ['user', 'Sure?'],
  ]);
});

test('a rejected call is shown as failed, and the model tries again', async () => {
  model.next(async reply => {
    reply.call(0, 'call_a', 'count', '{"text":"goose"}');
    reply.finish('tool_calls');
  });
  model.next(async reply => {
    reply.text('Sorry.');
    reply.finish('stop');
  });
  await send('Count!');
  await ended();
  const [[kind, state, input, reason], text] = await page.evaluate(parts);
  assert.deepEqual([kind, state, input, text], ['tool-count', 'output-error', '{"text":"goose"}', ['text', 'done', 'Sorry.']]);
  assert.match(reason, /^not run: .*letter/);
  assert.equal(model.requests[1].messages.at(-1).content, reason);
});

test('an error closes the message and is masked', async () => {
  model.next(async reply => {
    reply.text('A fj');
    reply.event({ error: { message: 'the secret cluster is overloaded' } });
    reply.response.end();
  });
  await send('What is a fjord?');
  await ended('error');
  assert.equal(await page.evaluate(error), 'An error occurred.');
  assert.deepEqual(await page.evaluate(parts), [['text', 'done', 'A fj']]);
  // The connection to the model breaks.
  model.next(async reply => {
    reply.text('A');
    setTimeout(() => reply.break(), 50);
  });
  await page.evaluate(() => { void window.chat.regenerate(); });
  await eventually(() => [document.querySelector('#chat').dataset.status, document.querySelectorAll('#chat [data-part="text"]').length], ['error', 2]);
});

test('stop closes the connection to the model', async t => {
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    const stopped = gate();
    model.next(async reply => {
      reply.text('Once upon a time');
      stopped.open(await reply.closed);
    });
    await send('Tell a story.');
    await eventually(() => [...document.querySelectorAll('#chat article:last-of-type [data-part="text"]')].map(part => part.textContent), ['Once upon a time']);
    const started = performance.now();
    await page.evaluate(() => window.chat.stop());
    times.push(await stopped.opened - started);
    await ended();
  }
  t.diagnostic(`from stop to the closed socket: ${times.map(time => time.toFixed(0)).join(', ')} ms`);
  assert.ok(Math.min(...times) < 100 && Math.max(...times) < 1000, `${times}`);
});

test('a stopped call does not break the next turn', async () => {
  model.next(async reply => {
    reply.text('I count.');
    reply.call(0, 'call_a', 'count', '{"text":"straw');
    await reply.closed;
  });
  await send('Count!');
  await eventually(() => document.querySelectorAll('[data-part="tool-count"]').length, 1);
  await page.evaluate(() => window.chat.stop());
  await ended();
  model.next(async reply => {
    reply.text('Fine.');
    reply.finish('stop');
  });
  await send('Never mind.');
  await eventually(parts, [['text', 'done', 'Fine.']]);
  assert.deepEqual(model.requests[1].messages.map(({ role, content }) => [role, content]), [
    ['user', 'Count!'], ['assistant', 'I count.'], ['user', 'Never mind.'],
  ]);
});

const items = () => [...document.querySelectorAll('#object li')].map(item => item.textContent);
const objectError = () => document.querySelector('#object .error').textContent !== '';

test('a list of validated objects fills', async () => {
  const [first, second, end] = [gate(), gate(), gate()];
  model.next(async reply => {
    reply.text('Sure!\n{"entity":"DNA","definition":"genes"}\n{"entity":"R');
    await first.opened;
    reply.text('NA"}\n{"entity":"cell","defin');
    await second.opened;
    reply.text('ition":"unit"}\n');
    await end.opened;
    reply.finish('stop');
  });
  await page.evaluate(() => { void window.object.submit('cells'); });
  await eventually(items, ['DNA: genes']);
  first.open();
  second.open();
  await eventually(items, ['DNA: genes', 'cell: unit']);
  assert.equal(await page.evaluate(() => document.querySelector('#object').dataset.loading), 'true');
  end.open();
  await eventually(() => document.querySelector('#object').dataset.loading, 'false');
  assert.equal(await page.evaluate(objectError), false);
  // No part of a record was ever there, and no invalid one.
  const [dna, cell] = [{ entity: 'DNA', definition: 'genes' }, { entity: 'cell', definition: 'unit' }];
  const seen = new Set((await page.evaluate(() => window.objects)).map(object => JSON.stringify(object)));
  assert.deepEqual([...seen].filter(object => object !== 'null' && object !== '[]'), [[dna], [dna, cell]].map(object => JSON.stringify(object)));
});

test('a list that is cut off is an error', async () => {
  for (const end of [reply => reply.break(), reply => reply.finish('length')]) {
    model.next(async reply => {
      reply.text('{"entity":"DNA","definition":"genes"}\n{"enti');
      await new Promise(resolve => setTimeout(resolve, 100));
      end(reply);
    });
    await page.evaluate(() => { void window.object.submit('cells'); });
    await eventually(() => [document.querySelector('#object').dataset.loading, document.querySelector('#object .error').textContent !== ''], ['false', true]);
    assert.deepEqual(await page.evaluate(items), ['DNA: genes']);
  }
});

test('stop of a list closes the connection to the model', async t => {
  const stopped = gate();
  model.next(async reply => {
    reply.text('{"entity":"DNA","definition":"genes"}\n');
    stopped.open(await reply.closed);
  });
  await page.evaluate(() => { void window.object.submit('cells'); });
  await eventually(items, ['DNA: genes']);
  const started = performance.now();
  await page.evaluate(() => window.object.stop());
  const time = await stopped.opened - started;
  t.diagnostic(`from stop to the closed socket: ${time.toFixed(0)} ms`);
  assert.ok(time < 1000);
});

test('completions and text chats read the same streams', async () => {
  const text = id => document.querySelector(`#${id} p`)?.textContent;
  model.next(async reply => {
    reply.text('Deep ');
    reply.text('water.');
    reply.finish('stop');
  });
  await page.evaluate(() => { void window.completion.complete('What is a fjord?'); });
  await eventually(text, 'Deep water.', 'completion');
  for (const [id, ask] of [
    ['textCompletion', () => { void window.textCompletion.complete('cells'); }],
    ['textChat', () => { void window.textChat.sendMessage({ text: 'cells' }); }],
  ]) {
    const end = gate();
    model.next(async reply => {
      reply.text('{"entity":"DNA","definition":"genes"}\n');
      await end.opened;
      reply.finish('stop');
    });
    await page.evaluate(ask);
    const selector = id === 'textChat' ? 'textChat article:last-of-type' : id;
    await eventually(text, '[{"entity":"DNA","definition":"genes"}', selector);
    end.open();
    await eventually(text, '[{"entity":"DNA","definition":"genes"}]', selector);
  }
});

test("reasoning returns to Anthropic with its signature", async () => {
  const message = { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} } };
  const block = (index, content_block, ...deltas) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const stop = stop_reason => [{ type: 'message_delta', delta: { stop_reason }, usage: {} }, { type: 'message_stop' }];
  const thinking = block(0, { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'I should count.' }, { type: 'signature_delta', signature: 'EqQB' });
  const call = block(1, { type: 'tool_use', id: 'toolu_1', name: 'count', input: {} },
    { type: 'input_json_delta', partial_json: '{"text":"strawberry",' }, { type: 'input_json_delta', partial_json: '"letter":"r"}' });
  const text = block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Three.' });
  await open(await start('anthropic'));
  model.next(async reply => reply.anthropic([message, ...thinking, ...call, ...stop('tool_use')]));
  model.next(async reply => reply.anthropic([message, ...text, ...stop('end_turn')]));
  await send('Count!');
  await ended();
  assert.deepEqual(await page.evaluate(parts), [
    ['reasoning', 'done', 'I should count.'],
    ['tool-count', 'output-available', '{"text":"strawberry","letter":"r"}', '{"count":3}'],
    ['text', 'done', 'Three.'],
  ]);
  model.next(async reply => reply.anthropic([message, ...text, ...stop('end_turn')]));
  await send('Sure?');
  await ended();
  const [, agent, turn] = model.requests.map(request => request.messages);
  assert.deepEqual(agent[1].content[0], { type: 'thinking', thinking: 'I should count.', signature: 'EqQB' });
  assert.deepEqual(turn.slice(0, agent.length), agent);
});
