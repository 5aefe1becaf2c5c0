// Part 4: `tokenline chat-analysis run` asks aimock, in Ollama's shape, for a chat answer with its analysis.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { show } from './compare.mjs';
import { startAimock, startTee } from './servers.mjs';
import { chatAnalysis } from './tokenline.mjs';

const ANSWER = {
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
const TEXT = JSON.stringify(ANSWER, null, 2);
const WRONG = { ...ANSWER, analysis: { ...ANSWER.analysis, summaryUpdate: 'Short.' } };
// Until then there is no analysis yet.
const CUT = TEXT.slice(0, TEXT.indexOf('"analysis"'));

// What aimock is told to say, and what is expected: `exit`, words on standard error, whether all of the response is
// shown, whether it is kept.
const CASES = [
  { name: 'chat-analysis', response: { content: TEXT }, isKept: true },
  { name: 'chat-analysis-in-ones', response: { content: TEXT }, options: { chunkSize: 1 }, isKept: true },
  { name: 'chat-analysis-in-one-piece', response: { content: TEXT }, options: { chunkSize: 1e5 }, isKept: true },
  {
    name: 'chat-analysis-wrong',
    response: { content: JSON.stringify(WRONG) },
    exit: 1,
    says: 'schema_violation: fewer characters than minLength 10: has 6 (at /analysis/summaryUpdate)',
  },
  {
    // aimock ends it with `stop` in Ollama's shape.
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
      const differences = out === `${ANSWER.response}\n` ? [] : [`output: ${show(out)}`];
      // The analysis is more than half of the answer.
      if (!(ahead > 300)) differences.push(`the first of the response came ${ahead} ms before the end`);
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
  const { exit = 0, says, isKept = false, shown } = one;
  const seen = await ask(setup, one);
  const differences = [];
  const differ = (what, meant, is) => {
    if (JSON.stringify(meant) !== JSON.stringify(is)) differences.push(`${what}: meant ${show(meant)}, is ${show(is)}`);
  };
  differ('exit', exit, seen.exit);
  if (isKept || shown === undefined) differ('shown', ANSWER.response, seen.out.replace(/\n$/, ''));
  else if (shown !== null) differ('shown', shown, seen.out);
  else if (!ANSWER.response.startsWith(seen.out)) differ('shown', 'a beginning', seen.out);
  if (says && !seen.complaint.includes(says)) differ('said', says, seen.complaint);
  if (!says) differ('said', '', seen.complaint);
  differ('requests', 1, seen.requests.length);
  const body = JSON.parse(Buffer.concat(seen.requests[0].pieces));
  differ('format', setup.schema, body.format);
  differ('temperature', 0, body.options.temperature);
  differ('stream', true, body.stream);
  differ('kept', isKept, existsSync(seen.file));
  if (isKept) {
    const back = await chatAnalysis(setup.program, ['from-xml', seen.file]);
    differ('as XML and back', ANSWER, JSON.parse(back.out));
    if (!readFileSync(seen.file, 'utf8').startsWith('<llmResponse version="1.0.0"')) differences.push('no XML');
  }
  return { differences };
}
