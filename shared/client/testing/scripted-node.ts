/** A server that answers as it is told, request by request: what a client must bear and no healthy node does. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** `cut` ends the connection without an answer, `silence` keeps it without one. */
export type Step =
  | 'cut'
  | 'silence'
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown };

interface ScriptedNode extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
}

/** The last step answers all further requests too. */
export async function startScriptedNode(steps: readonly Step[]): Promise<ScriptedNode> {
  const seen: SeenRequest[] = [];
  const answer: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const step = steps[seen.length] ?? steps.at(-1) ?? 'silence';
      seen.push({ path: request.url ?? '', headers: request.headers, body });
      if (step === 'cut') request.socket.destroy();
      if (typeof step === 'string') return;
      const { status = 200, headers = {}, body: content } = step;
      response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': `r${seen.length}`, ...headers });
      response.end(typeof content === 'string' ? content : JSON.stringify(content));
    });
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function result(content: unknown): Step {
  return { body: { jsonrpc: '2.0', id: 1, result: { content } } };
}

export function failure(
  code: string,
  status: number,
  data: Record<string, unknown> = {},
  headers: Readonly<Record<string, string>> = {},
): Step {
  return { status, headers, body: { jsonrpc: '2.0', id: 1, error: { code, message: `It is ${code}.`, data } } };
}

/** An address at which nobody is. */
export async function nowhere(): Promise<string> {
  const node = await startScriptedNode([]);
  await node[Symbol.asyncDispose]();
  return node.url;
}
