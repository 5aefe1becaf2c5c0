// A model on a real socket: each request waits for a script, which writes the response piece by piece.

import { once } from 'node:events';
import { createServer } from 'node:http';

export class Model {
  static async start() {
    const model = new Model();
    model.scripts = [];
    model.requests = [];
    model.failures = [];
    model.server = createServer((request, response) => {
      model.respond(request, response).catch(error => {
        model.failures.push(error);
        response.destroy();
      });
    });
    model.server.listen(0, '127.0.0.1');
    await once(model.server, 'listening');
    model.url = `http://127.0.0.1:${model.server.address().port}`;
    return model;
  }

  async respond(request, response) {
    let body = '';
    for await (const chunk of request) body += chunk;
    this.requests.push(JSON.parse(body));
    const script = this.scripts.shift();
    if (!script) throw new Error(`no script for a request: ${body}`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const closed = once(response, 'close').then(() => performance.now());
    await script(new Reply(response, closed));
  }

  /// The script of the next response.
  next(script) {
    this.scripts.push(script);
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

class Reply {
  constructor(response, closed) {
    Object.assign(this, { response, closed });
  }

  event(data) {
    this.response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }

  // OpenAI's chat completions.

  delta(delta, finish_reason = null) {
    this.event({ choices: [{ index: 0, delta, finish_reason }] });
  }

  text(content) {
    this.delta({ content });
  }

  reasoning(reasoning_content) {
    this.delta({ reasoning_content });
  }

  call(index, id, name, args) {
    this.delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] });
  }

  args(index, args) {
    this.delta({ tool_calls: [{ index, function: { arguments: args } }] });
  }

  finish(reason) {
    this.delta({}, reason);
    this.event('[DONE]');
    this.response.end();
  }

  // Anthropic's messages.

  anthropic(events) {
    for (const event of events) this.response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    this.response.end();
  }

  /// Breaks the connection.
  break() {
    this.response.destroy();
  }
}

/// A promise, and the function that fulfils it.
export function gate() {
  let open;
  const opened = new Promise(resolve => { open = resolve; });
  return { opened, open };
}
