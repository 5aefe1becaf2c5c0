// Part 1: the SDK and tokenline read the same bytes from aimock.

import { isDeepStrictEqual } from 'node:util';
import { CASES, expected } from './cases.mjs';
import { compare, show } from './compare.mjs';
import { SDKS } from './sdks/index.mjs';
import { startAimock, startTee } from './servers.mjs';
import { parse } from './tokenline.mjs';

// A lone surrogate as JSON.stringify writes it; in text that is itself JSON there would be two backslashes.
const HALF = /(?<!\\)\\ud[89a-f]/;

/** Runs every case with every provider. Resolves to the complete bodies, with the names of their cases. */
export async function checkAgainstMock(program, report) {
  const aimock = await startAimock(CASES);
  const tee = await startTee(aimock.url);
  const bodies = [];
  try {
    for (const sdk of SDKS) {
      for (const one of CASES.filter(({ only }) => only?.includes(sdk.provider) ?? true)) {
        await report(`mock   ${sdk.provider} ${one.name}`, async () => {
          const signal = AbortSignal.timeout(15_000);
          const sdkResponse = await sdk.ask({ url: tee.url, model: 'mock-o1', prompt: one.name, signal });
          const { status, body, broken } = await tee.taken();
          const differences = unexpected(one, sdk.provider, sdkResponse);
          if (HALF.test(body) && !one.halved) differences.push('aimock split a surrogate pair');
          if (!broken && status === 200 && !one.broken)
            bodies.push({ name: one.name, provider: sdk.provider, body });
          const own = await parse(program, sdk.provider, body);
          differences.push(...compare(sdk.provider, sdkResponse, own));
          const inOnes = await parse(program, sdk.provider, body, ['--chunk-size', '1']);
          if (!isDeepStrictEqual(own, inOnes))
            differences.push(`byte by byte: ${show(inOnes)}, at once: ${show(own)}`);
          return { differences, note: sdkResponse.error ?? sdkResponse.reason };
        });
      }
    }
  } finally {
    tee.close();
    await aimock.close();
  }
  return bodies;
}

/** The unexpected parts of the SDK's response: without this check, two sides that read nothing would agree. */
function unexpected(one, provider, sdkResponse) {
  if (one.broken) return sdkResponse.ended ? ['the SDK saw no break'] : [];
  const { text, reasoning, calls } = expected(one, provider);
  const seen = {
    text: sdkResponse.text,
    reasoning: sdkResponse.reasoning,
    calls: sdkResponse.calls.map(({ name, arguments: values }) => ({ name, arguments: values })),
  };
  const expectedParts = { text, reasoning, calls };
  const differences = sdkResponse.error ? [`the SDK threw: ${sdkResponse.error}`] : [];
  for (const [name, value] of Object.entries(expectedParts)) {
    if (!isDeepStrictEqual(seen[name], value)) {
      differences.push(`${name}: expected ${show(value)}, the SDK has ${show(seen[name])}`);
    }
  }
  return differences;
}
