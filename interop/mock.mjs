// Part 1: aimock speaks, the SDK and tokenline read the very same bytes.

import { isDeepStrictEqual } from 'node:util';
import { CASES, expected } from './cases.mjs';
import { compare, show } from './compare.mjs';
import { SDKS } from './sdks/index.mjs';
import { startAimock, startTee } from './servers.mjs';
import { parse } from './tokenline.mjs';

// A surrogate on its own, as JSON.stringify writes it; in text that is JSON itself there would be two backslashes.
const HALF = /(?<!\\)\\ud[89a-f]/;

/** Runs every case with every provider; resolves to the bodies that came whole, with their cases' names. */
export async function checkAgainstMock(program, report) {
  const aimock = await startAimock(CASES);
  const tee = await startTee(aimock.url);
  const bodies = [];
  try {
    for (const sdk of SDKS) {
      for (const one of CASES.filter(({ only }) => only?.includes(sdk.provider) ?? true)) {
        await report(`mock   ${sdk.provider} ${one.name}`, async () => {
          const signal = AbortSignal.timeout(15_000);
          const answer = await sdk.ask({ url: tee.url, model: 'mock-o1', prompt: one.name, signal });
          const { status, body, broken } = await tee.taken();
          const differences = strange(one, sdk.provider, answer);
          if (HALF.test(body) && !one.halved) differences.push('aimock cut a surrogate pair in half');
          if (!broken && status === 200 && !one.broken)
            bodies.push({ name: one.name, provider: sdk.provider, body });
          const own = await parse(program, sdk.provider, body);
          differences.push(...compare(sdk.provider, answer, own));
          const inOnes = await parse(program, sdk.provider, body, ['--chunk-size', '1']);
          if (!isDeepStrictEqual(own, inOnes))
            differences.push(`byte by byte: ${show(inOnes)}, at once: ${show(own)}`);
          return { differences, note: answer.error ?? answer.reason };
        });
      }
    }
  } finally {
    tee.close();
    await aimock.close();
  }
  return bodies;
}

/** What is not as this harness meant it: without this, two sides that both read nothing would agree. */
function strange(one, provider, answer) {
  if (one.broken) return answer.ended ? ['the SDK saw no break'] : [];
  const { text, reasoning, calls } = expected(one, provider);
  const seen = {
    text: answer.text,
    reasoning: answer.reasoning,
    calls: answer.calls.map(({ name, arguments: values }) => ({ name, arguments: values })),
  };
  const meant = { text, reasoning, calls };
  const differences = answer.error ? [`the SDK threw: ${answer.error}`] : [];
  for (const what of Object.keys(meant)) {
    if (!isDeepStrictEqual(seen[what], meant[what])) {
      differences.push(`${what}: meant ${show(meant[what])}, the SDK has ${show(seen[what])}`);
    }
  }
  return differences;
}
