// Words: what differs between two texts, a text cut at a word's end, a count in words. No DOM.

const TOKENS = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
const MAX_LENGTH = 400_000; // characters of one text
// The table of two texts of 2,000 words, which are 4,000 tokens with the spaces between them.
const MAX_CELLS = 16_000_000;

/** How often the model was asked again, in words. */
export const timesAsked = (times) => (times === 1 ? "asked again once" : `asked again ${times.toLocaleString("en")} times`);

/** A text of at most `limit` characters; one that is cut ends in an ellipsis, after a whole word if there is one. */
export function shortened(text, limit) {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 1);
  const end = /\s/.test(text[limit - 1]) ? cut.length : cut.search(/\s\S*$/);
  const kept = end > limit / 2 ? cut.slice(0, end) : cut.replace(/[\ud800-\udbff]$/, "");
  return `${kept.trimEnd()}\u2026`;
}

/**
 * What differs between two texts, word by word: parts in order, {before, after, isSame}. Null if the texts are too long
 * for that.
 */
export function wordDiff(before, after) {
  if (before.length > MAX_LENGTH || after.length > MAX_LENGTH) return null;
  const [one, other] = [before, after].map((text) => text.match(TOKENS) ?? []);
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0; // of both, counted from their ends
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const middle = [one, other].map((tokens) => tokens.slice(start, tokens.length - end));
  if ((middle[0].length + 1) * (middle[1].length + 1) > MAX_CELLS) return null;
  const same = (tokens) => tokens.map((token) => [token, token]);
  return parts([...same(one.slice(0, start)), ...aligned(...middle), ...same(one.slice(one.length - end))]);
}

/** Pairs of tokens along a longest common subsequence; null where one side has none. */
function aligned(one, other) {
  const width = other.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width); // of the common subsequences of the rests
  for (let a = one.length - 1; a >= 0; a -= 1) {
    for (let b = other.length - 1; b >= 0; b -= 1) {
      const at = a * width + b;
      lengths[at] = one[a] === other[b] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const pairs = [];
  let [a, b] = [0, 0];
  while (a < one.length || b < other.length) {
    const at = a * width + b;
    if (a < one.length && b < other.length && one[a] === other[b]) pairs.push([one[a++], other[b++]]);
    else if (b === other.length || (a < one.length && lengths[at + width] >= lengths[at + 1])) pairs.push([one[a++], null]);
    else pairs.push([null, other[b++]]);
  }
  return pairs;
}

function parts(pairs) {
  const found = [];
  const add = (before, after, isSame) => {
    const last = found.at(-1);
    if (last?.isSame !== isSame) return found.push({ before, after, isSame });
    last.before += before;
    last.after += after;
  };
  for (const [one, other] of pairs) add(one ?? "", other ?? "", one === other);
  // A space between two changes is part of one.
  const joined = found.splice(0);
  joined.forEach((part, at) => {
    const isBetween = part.isSame && at > 0 && at < joined.length - 1 && part.before.trim() === "";
    add(part.before, part.after, part.isSame && !isBetween);
  });
  return found;
}
