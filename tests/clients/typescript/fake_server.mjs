// A server that answers each request by the next of the given answers, and notes what came.

import { createServer } from "node:http";

export async function serve(...answers) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    seen.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(parts).toString() });
    const answer = answers.shift();
    if (answer === "reset") request.socket.destroy();
    else if (answer === "silence") return;
    else if (answer.cut !== undefined) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(answer.cut);
      setTimeout(() => request.socket.destroy(), 20);
    } else {
      const events = answer.events !== undefined;
      response.writeHead(answer.status ?? 200, { "content-type": events ? "text/event-stream" : "application/json", ...answer.headers });
      response.end(events ? answer.events : JSON.stringify(answer.body ?? { success: true, data: answer.data }));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref(); // a test that failed does not keep its process
  return { url: `http://127.0.0.1:${server.address().port}`, seen, close: () => server.closeAllConnections() ?? server.close() };
}

export const held = { status: 423, body: { message: "held", data: { reason: "held_by_human", holder: "Ann", epoch: 1 } } };
