// Formats of bodies.

export const sse = (events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
export const named = (events) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
export const crlf = (events) => sse(events).replaceAll('\n', '\r\n');
export const lines = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
