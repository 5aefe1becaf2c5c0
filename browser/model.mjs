// A model under the tests' control: a server that speaks OpenAI's chat API.

import http from "node:http";
import { once } from "node:events";

/** One request to the model, and the response that a test writes. */
class Exchange {
  constructor(request, response) {
    this.response = response;
    this.request = request;
    /** Resolves with the time at which the connection is closed. */
    this.closed = new Promise((resolve) => response.on("close", () => resolve(performance.now())));
    this.sent = 0; // bytes of text
  }

  #event(choice) {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "test", choices: [choice] };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }

  delta(delta) {
    return this.response.write(this.#event({ index: 0, delta, finish_reason: null }));
  }

  text(content) {
    this.sent += content.length;
    return this.delta({ content });
  }

  /** A piece of a native tool call. */
  call(index, name, args) {
    const id = name === undefined ? {} : { id: `call_${index}`, type: "function" };
    return this.delta({ tool_calls: [{ index, ...id, function: { ...(name && { name }), arguments: args } }] });
  }

  /** The tokens so far. */
  usage(usage) {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "test", choices: [], usage };
    this.response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  finish(reason = "stop") {
    this.response.write(this.#event({ index: 0, delta: {}, finish_reason: reason }));
    this.response.end("data: [DONE]\n\n");
  }

  /** Writes texts no faster than they are taken. */
  async stream(texts) {
    for (const text of texts) {
      if (this.response.destroyed) return;
      if (!this.text(text)) await Promise.race([once(this.response, "drain"), this.closed]);
    }
  }
}

export class Model {
  #server;
  #waiting = [];
  #arrived = [];
  /** The names that the server lists. */
  models = ["test", "test-large"];
  /** A function of a response: what to do instead of streaming. */
  instead = null;

  static async start() {
    const model = new Model();
    model.#server = http.createServer(async (request, response) => {
      if (request.method === "GET" && request.url.endsWith("/v1/models")) {
        response.writeHead(200, { "content-type": "application/json" });
        return response.end(JSON.stringify({ object: "list", data: model.models.map((id) => ({ id })) }));
      }
      let body = "";
      for await (const part of request) body += part;
      if (model.instead) return model.instead(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      const exchange = new Exchange({ url: request.url, headers: request.headers, body: JSON.parse(body), text: body }, response);
      const next = model.#waiting.shift();
      if (next) next(exchange);
      else model.#arrived.push(exchange);
    });
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** The next request that nobody has taken yet. */
  async next() {
    return this.#arrived.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
