// Part 2: the SDK and tokenline read recorded bodies, which `tokenline replay` serves.

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

// The bodies of aimock that are served again.
const AGAIN = ['text', 'call', 'calls-parallel', 'text-and-call', 'reasoning-and-text'];
// These are also served with an early end, which is clean as far as HTTP can tell.
const CUT_SHORT = ['calls-parallel', 'text-and-call'];

/** How `tokenline replay` splits and paces a body. */
const PACES = [
  { name: 'in sevens', options: ['--chunk-size', '7'] },
  { name: 'by events', options: ['--delay-ms', '1'] },
];

/** Serves all bodies to every SDK. Writes them to the existing `directory`. */
export async function checkReplay(program, bodies, directory, report) {
  for (const sdk of REPLAYED) {
    await report(`replay ${sdk.provider} dialects are fixtures`, () => {
      const names = fixtures(sdk).map((file) => path.parse(file).name);
      const unknown = dialectNames(sdk.provider).filter((name) => !names.includes(name));
      return { differences: unknown.map((name) => `dialect: no fixture ${name}`) };
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
  const response = await sdk.ask({ url, model, prompt: 'anything', signal });
  const own = await parse(program, sdk.provider, readFileSync(file));
  const differences = compare(sdk.provider, response, own);
  const isFixture = sdk.encode || path.dirname(file).startsWith(FIXTURES);
  const known = isFixture && dialect(sdk.provider, model.replace(`${sdk.provider}.`, ''));
  if (!known) return { differences, note: response.error ?? response.reason };
  // For a fixture that the SDK misreads, the differences must be exactly the known ones.
  const actual = differences.map((difference) => difference.slice(0, difference.indexOf(':')));
  if (isDeepStrictEqual(actual, known.differs)) return { differences: [], note: `SDK misreads it: ${known.why}` };
  const summary = `dialect: expected to differ in ${known.differs.join(', ')}, differs in ${actual.join(', ')}`;
  return { differences: [summary, ...differences] };
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
    // Not in the blank line after the last event: tokenline accepts an event with complete JSON, the SDKs do not.
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

/** The file to serve for a fixture; one that lists messages is encoded first. */
function encoded({ provider, encode }, file, directory) {
  if (!encode) return file;
  const bytes = path.join(directory, `${provider}.${path.basename(file)}`);
  writeFileSync(bytes, encode(readFileSync(file, 'utf8')));
  return bytes;
}

/**
 * The project's own fixtures: real responses, most of which aimock cannot produce. Omits Gemini's body without `alt=sse`, a
 * JSON array in `*.json`: its SDK always requests events and reads nothing else.
 */
function fixtures({ provider, extension }) {
  return readdirSync(path.join(FIXTURES, provider), { recursive: true })
    .filter((name) => name.endsWith(`.${extension}`))
    .map((name) => path.join(FIXTURES, provider, name));
}
