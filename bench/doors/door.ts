/** What every baseline door shares: a JSON body in, a JSON reply out, on a port that it prints. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export function announce(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
}

/** Bare node:http: whole body in, `answer` out. */
export function serveBare(answer: (body: string) => string | Promise<string>): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void Promise.resolve(answer(Buffer.concat(chunks).toString())).then((reply) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(reply) });
        response.end(reply);
      });
    });
  });
  announce(server);
}
