/** Calls whose bodies come late: who makes them is judged when all of the call is there. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Harness, startHarness, until } from '../testing/harness.ts';

let harness: Harness;
let token: string;
beforeEach(async () => {
  harness = await startHarness();
  harness.registry.grant('a1', 'acme', 'editor');
  harness.registry.grant('a1', 'beta', 'viewer');
  token = harness.registry.mint('a1');
});
afterEach(() => harness.stop());

const CALL = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'probe_write', arguments: { amount: 1 } }, id: 1 };

interface LateCall {
  /** The rest of its body; resolves with what is answered. */
  finish(): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
}

/** Resolves when the caller was admitted. */
async function begun(path: string, call: object = CALL): Promise<LateCall> {
  const asked = harness.registry.asked.revision;
  const body = JSON.stringify(call);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-length': Buffer.byteLength(body),
    'x-habitat-token': token,
  };
  const sent = request(`${harness.url}${path}`, { method: 'POST', headers });
  const answered = answerTo(sent);
  sent.write(body.slice(0, 1));
  await until(async () => harness.registry.asked.revision > asked);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    async finish() {
      sent.end(body.slice(1));
      const reply = await answered;
      return { status: reply.statusCode ?? 0, body: JSON.parse(await text(reply)) as Record<string, unknown> };
    },
  };
}

function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => sent.on('response', resolve).on('error', reject));
}

describe.each(['/call', '/mcp/exec', '/mcp'])('a call to %s', (path) => {
  test('is not made when its token ended before its body came', async () => {
    const late = await begun(path);
    harness.registry.revoke(token);
    expect(await late.finish()).toMatchObject({ status: 401 });
    expect(harness.probe.deps.ran).toEqual([]);
  });
});

test('a call is made when nothing has changed', async () => {
  const late = await begun('/call');
  expect(await late.finish()).toMatchObject({ status: 200 });
  expect(harness.probe.deps.ran).toEqual(['probe_write']);
});

test('of a call whose body comes with its headers the registry is asked once', async () => {
  const call = () => harness.call(CALL, { authorization: `Bearer ${token}` });
  await call();
  const { revision } = harness.registry.asked;
  for (let each = 0; each < 5; each += 1) expect((await call()).status).toBe(200);
  expect(harness.registry.asked.revision - revision).toBe(5);
});

test('who came into quarantine before its body came changes nothing', async () => {
  const late = await begun('/call');
  harness.registry.quarantine('a1', true);
  expect(await late.finish()).toMatchObject({ status: 403, body: { error: { code: 'E_QUARANTINED' } } });
  expect(harness.probe.deps.ran).toEqual([]);
});

test('a call is made with the roles that its caller has when its body is there', async () => {
  const late = await begun('/call', { ...CALL, params: { name: 'probe_echo', arguments: {} } });
  harness.registry.grant('a1', 'acme');
  const { body } = await late.finish();
  expect(body).toMatchObject({
    result: { content: { caller: { subject: { workspace: 'beta', roles: ['viewer'] } } } },
  });
});
