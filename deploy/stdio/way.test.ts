/** `svc mcp` that is sent to a node elsewhere, by an address or a credential that leads nowhere. */
import { createServer } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { environmentOf, ownDirectory } from '../testing/stdio-clients.ts';

const ENTRY = join(import.meta.dirname, '..', 'embedded.ts');
const PATIENT = { timeout: 120_000 };
/** Of the official clients. */
const CLIENT_GIVES_UP_MS = 60_000;

interface Said {
  readonly answers: readonly unknown[];
  readonly warnings: string;
}

const OPENING = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const LISTING = { id: 'two', method: 'tools/list' };

/** What a client is answered that asks for all that, waits for its answers and leaves. */
async function ask(more: Readonly<Record<string, string>>, requests: readonly object[]): Promise<Said> {
  const environment = environmentOf(ownDirectory(), more);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ENTRY], { env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  const late = setTimeout(() => child.stdin.end(), CLIENT_GIVES_UP_MS);
  let [said, warnings] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (warnings += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.split('\n').length > requests.length) child.stdin.end();
  });
  for (const request of requests) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`);
  await once(child, 'close');
  clearTimeout(late);
  const answers = said.split('\n').filter((line) => line !== '');
  return { answers: answers.map((line) => JSON.parse(line) as unknown), warnings };
}

function refusalOf({ id }: Readonly<{ id: unknown }>, message: string) {
  const error = { code: -32_000, message: expect.stringContaining(message), data: { code: 'SERVICE_UNAVAILABLE' } };
  return { jsonrpc: '2.0', id, error };
}

/** A server that takes connections and says nothing, until the test is over. */
async function silentServer() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : expect.fail('no port');
  return { server, url: `http://127.0.0.1:${port}` };
}

test.each([
  [{ SVC_URL: 'nope' }, 'SVC_URL: "nope" is no http address'],
  [{ SVC_URL: 'http://127.0.0.1:99999' }, 'SVC_URL: "http://127.0.0.1:99999" is no http address'],
  [{ SVC_URL: 'ftp://127.0.0.1' }, 'SVC_URL: "ftp://127.0.0.1" is no http address'],
  [{ SVC_URL: 'http://me:secret@127.0.0.1' }, 'SVC_URL: The credential belongs into'],
  [{ SVC_TOKEN: 'svc_two\nlines' }, '`token` has a character that no header can carry'],
])('%j is told at once, to the operator and to each request', PATIENT, async (environment, sentence) => {
  const { answers, warnings } = await ask(environment, [OPENING, LISTING]);
  expect(answers).toEqual([OPENING, LISTING].map((asked) => refusalOf(asked, sentence)));
  expect(warnings).toContain(`svc mcp: ${sentence}`);
  expect(`${warnings}${JSON.stringify(answers)}`).not.toMatch(/secret|svc_two/);
});

test('an address at which nobody answers is named before a client gives up', PATIENT, async () => {
  const [silent, gone] = await Promise.all([silentServer(), silentServer()]);
  gone.server.close();
  const reasons = [
    [silent.url, 'The operation was aborted due to timeout'],
    [gone.url, 'nobody listens there'],
  ];
  await Promise.all(
    reasons.map(async ([url = '', reason]) => {
      const { answers, warnings } = await ask({ SVC_URL: url }, [OPENING]);
      expect(answers).toEqual([refusalOf(OPENING, `no node answers at ${url}: ${reason}`)]);
      expect(warnings).toContain(`svc mcp: no node answers at ${url}: ${reason}`);
    }),
  );
});
