/** The process itself, in front of a node that is none: what becomes of it and of its answers when its client has left. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

/** Several times what a pipe holds. */
const ANSWER = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(1024 * 1024) } });

async function startAnswering(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a client that ended its input has the whole of every answer, however slowly it reads', async () => {
  const url = await startAnswering();
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const entry = join(import.meta.dirname, '..', 'mcp.ts');
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', entry];
  // Long enough for a process that does not wait to have ended: until then nobody reads.
  const client = spawn('sh', ['-c', '"$@" | { sleep 4; cat; }', 'sh', ...command], {
    env: { PATH, NODE_COMPILE_CACHE, SVC_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  onTestFinished(() => endGroup(client.pid));
  client.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
  const said = await text(client.stdout);
  expect(said).toHaveLength(ANSWER.length + 1);
  expect(JSON.parse(said)).toEqual(JSON.parse(ANSWER));
}, 60_000);

function endGroup(leader = 0): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // They have all ended.
  }
}
