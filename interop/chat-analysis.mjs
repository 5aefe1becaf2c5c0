// Part 4: `tokenline chat-analysis run` requests a chat response with an analysis from aimock, in Ollama's format.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { show } from './compare.mjs';
import { startAimock, startTee } from './servers.mjs';
import { chatAnalysis } from './tokenline.mjs';

const RESPONSE = {
  response: 'A "529" plan — é, 日本語 😀 — is a good <start> & no more.\nIt depends on your timeframe.',
  analysis: {
    subjects: [
      {
        name: 'college-savings',
        description: "Saving for children's education",
        isNew: true,
        keywords: [{ term: '529-plan', confidence: 0.95 }],
      },
    ],
    summaryUpdate: 'User asked how much to save for college.',
  },
};
const TEXT = JSON.stringify(RESPONSE, null, 2);
const WRONG = { ...RESPONSE, analysis: { ...RESPONSE.analysis, summaryUpdate: 'Short.' } };
// The response without its analysis.
const CUT = TEXT.slice(0, TEXT.indexOf('"analysis"'));

// The responses of aimock, and the expected results: `exit`, a part of standard error (`says`), the shown text, and whether
// the response is stored.
const CASES = [
  { name: 'chat-analysis', response: { content: TEXT }, isStored: true },
  { name: 'chat-analysis-in-ones', response: { content: TEXT }, options: { chunkSize: 1 }, isStored: true },
  { name: 'chat-analysis-in-one-piece', response: { content: TEXT }, options: { chunkSize: 1e5 }, isStored: true },
  {
    name: 'chat-analysis-wrong',
    response: { content: JSON.stringify(WRONG) },
    exit: 1,
    says: 'schema_violation: fewer characters than minLength 10: has 6 (at /analysis/summaryUpdate)',
  },
  {
    // In Ollama's format, aimock always ends with `stop`.
    name: 'chat-analysis-cut',
    response: { content: CUT, finishReason: 'length' },
    exit: 1,
    says: 'truncated: expected a name in double quotes, found the end of the input',
  },
  { name: 'chat-analysis-no-json', response: { content: 'I cannot.' }, exit: 1, says: 'no JSON object', shown: '' },
  {
    name: 'chat-analysis-broken',
    response: { content: TEXT },
    options: { chunkSize: 10, truncateAfterChunks: 6 },
    exit: 3,
    says: 'tokenline: ',
    shown: null,
  },
];
const SLOW = { name: 'chat-analysis-slow', response: { content: TEXT }, options: { chunkSize: 10, latency: 20 } };

export async function checkChatAnalysis(program, directory, report) {
  const aimock = await startAimock([...CASES, SLOW]);
  const schema = JSON.parse((await chatAnalysis(program, ['schema'])).out);
  try {
    for (const one of CASES) {
      await report(`chat-analysis ${one.name}`, () => checkCase({ program, directory, aimock, schema }, one));
    }
    await report(`chat-analysis ${SLOW.name}`, async () => {
      const { firstAt, endedAt, out } = await ask({ program, directory, aimock }, SLOW);
      const ahead = endedAt - firstAt;
      const differences = out === `${RESPONSE.response}\n` ? [] : [`output: ${show(out)}`];
      // The analysis is more than half of the response.
      if (!(ahead > 300)) differences.push(`the first text came ${ahead} ms before the end`);
      return { differences, note: `${Math.round(ahead)} ms ahead` };
    });
  } finally {
    await aimock.close();
  }
}

async function ask({ program, directory, aimock }, { name }) {
  const store = path.join(directory, 'attachments');
  mkdirSync(store, { recursive: true });
  const tee = await startTee(aimock.url);
  try {
    const seen = await chatAnalysis(
      program,
      ['run', '--provider', 'ollama', '--base-url', tee.url, '--model', 'mock', '--store', store]
        .concat(['--topic', 'interop', '--message', name, '--retries', '3']),
      name,
    );
    return { ...seen, requests: tee.requests, file: path.join(store, 'interop', `${name}.xml`) };
  } finally {
    tee.close();
  }
}

async function checkCase(setup, one) {
  const { exit = 0, says, isStored = false, shown } = one;
  const seen = await ask(setup, one);
  const differences = [];
  const differ = (name, expected, actual) => {
    if (JSON.stringify(expected) === JSON.stringify(actual)) return;
    differences.push(`${name}: expected ${show(expected)}, got ${show(actual)}`);
  };
  differ('exit', exit, seen.exit);
  if (isStored || shown === undefined) differ('shown', RESPONSE.response, seen.out.replace(/\n$/, ''));
  else if (shown !== null) differ('shown', shown, seen.out);
  else if (!RESPONSE.response.startsWith(seen.out)) differ('shown', 'a prefix', seen.out);
  if (says && !seen.complaint.includes(says)) differ('standard error', says, seen.complaint);
  if (!says) differ('standard error', '', seen.complaint);
  differ('requests', 1, seen.requests.length);
  const body = JSON.parse(Buffer.concat(seen.requests[0].pieces));
  differ('format', setup.schema, body.format);
  differ('temperature', 0, body.options.temperature);
  differ('stream', true, body.stream);
  differ('stored', isStored, existsSync(seen.file));
  if (isStored) {
    const back = await chatAnalysis(setup.program, ['from-xml', seen.file]);
    differ('XML and back', RESPONSE, JSON.parse(back.out));
    if (!readFileSync(seen.file, 'utf8').startsWith('<llmResponse version="1.0.0"')) differences.push('no XML');
  }
  return { differences };
}
