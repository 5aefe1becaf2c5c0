// Part 2: `tokenline replay` serves recorded bodies, the SDK and tokenline read them.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { HANDWRITTEN } from './bodies/index.mjs';
import { compare } from './compare.mjs';
import { dialect, dialectNames } from './dialects.mjs';
import { REPLAYED } from './sdks/index.mjs';
import { startReplay } from './servers.mjs';
import { parse } from './tokenline.mjs';

const FIXTURES = fileURLToPath(new URL('../crates/tokenline-llm/fixtures/', import.meta.url));

// Of what aimock said, these bodies are served again.
const AGAIN = ['text', 'call', 'calls-parallel', 'text-and-call', 'reasoning-and-text'];
// Of these, also what is left when the body ends early, cleanly, as far as HTTP can tell.
const CUT_SHORT = ['calls-parallel', 'text-and-call'];

/** How a body is cut and paced: by `tokenline replay`, which needs no program of ours to be believed. */
const PACES = [
  { name: 'in sevens', options: ['--chunk-size', '7'] },
  { name: 'by events', options: ['--delay-ms', '1'] },
];

/** Serves everything to every SDK. Bodies are written to `directory`, which is there. */
export async function checkReplay(program, bodies, directory, report) {
  for (const sdk of REPLAYED) {
    await report(`replay ${sdk.provider} dialects are fixtures`, () => {
      const names = fixtures(sdk).map((file) => path.parse(file).name);
      const strangers = dialectNames(sdk.provider).filter((name) => !names.includes(name));
      return { differences: strangers.map((name) => `dialect: there is no fixture ${name}`) };
    });
    const files = [
      ...recorded(
        bodies.filter(({ provider }) => provider === sdk.provider),
        sdk,
        directory,
      ),
      ...handwritten(sdk, directory),
      ...fixtures(sdk).map((file) => encoded(sdk, file, directory)),
    ];
    for (const { name: pace, options } of PACES) {
      const server = await startReplay(program, files, options);
      try {
        for (const file of files) {
          const model = path.parse(file).name;
          await report(`replay ${sdk.provider} ${model}, ${pace}`, () =>
            ask(program, sdk, server.url, model, file),
          );
        }
      } finally {
        await server.close();
      }
    }
  }
}

async function ask(program, sdk, url, model, file) {
  const signal = AbortSignal.timeout(15_000);
  const answer = await sdk.ask({ url, model, prompt: 'anything', signal });
  const own = await parse(program, sdk.provider, readFileSync(file));
  const differences = compare(sdk.provider, answer, own);
  const isFixture = sdk.encode || path.dirname(file).startsWith(FIXTURES);
  const known = isFixture && dialect(sdk.provider, model.replace(`${sdk.provider}.`, ''));
  if (!known) return { differences, note: answer.error ?? answer.reason };
  // What the SDK does not read as the server meant it must differ in just that.
  const found = differences.map((difference) => difference.slice(0, difference.indexOf(':')));
  if (isDeepStrictEqual(found, known.differs)) return { differences: [], note: `not its SDK's: ${known.why}` };
  const meant = `dialect: meant to differ in ${known.differs.join(', ')}, does in ${found.join(', ')}`;
  return { differences: [meant, ...differences] };
}

function recorded(bodies, { extension }, directory) {
  const files = [];
  const keep = (provider, name, body) => {
    const file = path.join(directory, `${provider}.${name}.${extension}`);
    writeFileSync(file, body);
    files.push(file);
  };
  for (const { provider, name, body } of bodies) {
    if (AGAIN.includes(name)) keep(provider, name, body);
    if (!CUT_SHORT.includes(name)) continue;
    const places = [1, 2, 3, 4, 5, 6].map((part) => Math.floor((body.length * part) / 7));
    // Not in the blank line behind the last event: tokenline takes an event whose JSON is whole, the SDKs do not.
    for (const place of [...places, body.toString('latin1').trimEnd().length - 1])
      keep(provider, `${name}-cut-at-${place}`, body.subarray(0, place));
  }
  return files;
}

function handwritten({ provider, extension }, directory) {
  return Object.entries(HANDWRITTEN[provider] ?? {}).map(([name, body]) => {
    const file = path.join(directory, `${provider}.by-hand-${name}.${extension}`);
    writeFileSync(file, body);
    return file;
  });
}

/** The fixture as it is sent; one that lists messages is written as bytes first. */
function encoded({ provider, encode }, file, directory) {
  if (!encode) return file;
  const bytes = path.join(directory, `${provider}.${path.basename(file)}`);
  writeFileSync(bytes, encode(readFileSync(file, 'utf8')));
  return bytes;
}

/**
 * The project's own fixtures: what servers really send, most of which aimock does not. Gemini's body without `alt=sse`,
 * a JSON array in `*.json`, is left out: its SDK always asks for events and reads nothing else.
 */
function fixtures({ provider, extension }) {
  return readdirSync(path.join(FIXTURES, provider), { recursive: true })
    .filter((name) => name.endsWith(`.${extension}`))
    .map((name) => path.join(FIXTURES, provider, name));
}
