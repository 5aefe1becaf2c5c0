// Amazon event streams, written by AWS's own codec.

import { EventStreamCodec } from '@smithy/core/event-streams';

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text, 'utf8'),
);

const string = (value) => ({ type: 'string', value });

/**
 * Encodes the messages that a fixture lists, one per line: `event NAME PAYLOAD`, `exception NAME PAYLOAD` or `error CODE
 * MESSAGE`; optionally after `corrupt` (wrong checksum), `lost` (wrong checksum of its lengths) or `cut N` (without its last
 * N bytes).
 */
export function eventStream(listed) {
  return Buffer.concat(listed.split('\n').filter(Boolean).map(message));
}

function message(line) {
  const [kind, rest] = parted(line);
  if (kind === 'corrupt') return flipped(message(rest), (length) => length - 1);
  if (kind === 'lost') return flipped(message(rest), () => 11);
  if (kind === 'cut') {
    const [bytes, whole] = parted(rest);
    return message(whole).subarray(0, -Number(bytes));
  }
  const [name, body] = parted(rest);
  const headers = { ':message-type': string(kind) };
  if (kind === 'error') {
    headers[':error-code'] = string(name);
    headers[':error-message'] = string(body);
    return Buffer.from(codec.encode({ headers, body: new Uint8Array() }));
  }
  headers[`:${kind}-type`] = string(name);
  headers[':content-type'] = string('application/json');
  return Buffer.from(codec.encode({ headers, body: Buffer.from(body) }));
}

function parted(text) {
  const at = text.indexOf(' ');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function flipped(bytes, place) {
  bytes[place(bytes.length)] ^= 1;
  return bytes;
}
