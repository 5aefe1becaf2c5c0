// The conversation of every client: a question, a call, its result, and the answer. `clients.py` has the same.

import { readFileSync } from 'node:fs';

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

export const { question, tool, arguments: ARGUMENTS, result, answer, usage } = read('conversation.json');

/** The value of the header that a client sends its key in; nothing checks it. */
export const KEY = 'none';
