/** Whatever is sent to /mcp, in either era: a typed answer, and the door serves on. */
import { CALL_ERRORS } from '@svc/contract/codes.ts';
import { runs } from '@svc/testing/counts.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, startHarness } from '../../testing/harness.ts';
import { META, WITH_TASKS } from '@svc/testing/mcp-wire.ts';
import { KEY } from '../../testing/platform.ts';
import { LEGACY, MODERN } from '../domain/mcp-wire.ts';

const SEED = 20_260_728;
const AT_ONCE = 20;

let harness: Harness;
/** Of the operator, and of somebody else. */
let sessions: readonly string[] = [];

beforeAll(async () => {
  harness = await startHarness();
  harness.registry.grant('a1', 'acme', 'viewer');
  const begin = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: LEGACY[0] } };
  const open = async (token: string) =>
    (await send({ body: JSON.stringify(begin), headers: { authorization: `Bearer ${token}` } })).headers.get(
      'mcp-session-id',
    ) ?? '';
  sessions = [await open(KEY), await open(harness.registry.mint('a1'))];
});
afterAll(() => harness.stop());

interface Shot {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function send({ body, headers }: Shot): Promise<Response> {
  const own = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` };
  return harness.fetch('/mcp', { method: 'POST', headers: { ...own, ...headers }, body });
}

const methods = fc.constantFrom(
  'tools/call',
  'tools/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'server/discover',
  'initialize',
  'ping',
  'tasks/get',
  'tasks/cancel',
  'tasks/update',
  'subscriptions/listen',
  'prompts/get',
  'notifications/cancelled',
  '__proto__',
  'toString',
  '',
);
const named = fc.constantFrom('probe_echo', 'probe_read', 'svc_call', 'tool_search', 'none', '__proto__', '', '\ud800');
const anything = fc.anything({ maxDepth: 3, withNullPrototype: false, withBigInt: false });
const params = fc.record(
  {
    name: fc.oneof(named, anything),
    arguments: fc.oneof(fc.object({ maxDepth: 2 }), anything),
    uri: fc.oneof(
      fc.constantFrom('brain:///svc/notes/a.md', 'brain:///', 'brain:///%', 'file:///etc/passwd'),
      anything,
    ),
    taskId: fc.oneof(fc.constantFrom('0'.repeat(32), 'x'), anything),
    inputResponses: anything,
    notifications: anything,
    protocolVersion: fc.oneof(fc.constantFrom(...LEGACY, MODERN), anything),
    cursor: anything,
    _meta: fc.oneof(fc.constantFrom<object>(META, WITH_TASKS), anything),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 4, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: anything }),
    id: fc.oneof(fc.integer(), fc.string(), anything),
    method: fc.oneof({ weight: 5, arbitrary: methods }, { weight: 1, arbitrary: anything }),
    params: fc.oneof({ weight: 5, arbitrary: params }, { weight: 1, arbitrary: anything }),
    result: anything,
  },
  { requiredKeys: [] },
);
const text = fc.oneof(
  { weight: 6, arbitrary: message.map(asJson) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(message.map(asJson), fc.nat(), fc.string())
      .map(([json, at, junk]) => json.slice(0, at % (json.length + 1)) + junk),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 80 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const headerText = fc.oneof(
  methods,
  named.filter((name) => name !== '\ud800'),
  fc.constantFrom(MODERN, ...LEGACY, '1999-01-01', '=?base64?!!?=', '=?base64?cHJvYmVfZWNobw==?=', '=?base64?AAA?='),
  fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
);
const headers = fc.record(
  {
    'mcp-protocol-version': fc.oneof(fc.constantFrom(MODERN, ...LEGACY), headerText),
    'mcp-method': headerText,
    'mcp-name': headerText,
    'mcp-session-id': fc.oneof(fc.nat(1).map(String), headerText),
    'idempotency-key': headerText,
    'last-event-id': headerText,
  },
  { requiredKeys: [] },
);

function asJson(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

interface Answer {
  readonly jsonrpc?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: unknown; readonly data: { readonly code: keyof typeof CALL_ERRORS } };
}

/** What the answer is: `ok`, `stream`, `accepted`, or the code of a typed error. Fails for whatever is none. */
async function kindOf(response: Response, shot: Shot): Promise<string> {
  const shown = `${shot.body.slice(0, 500)} ${JSON.stringify(shot.headers)}`;
  expect(response.status, shown).toBeLessThan(500);
  if (response.headers.get('content-type') === 'text/event-stream') {
    await response.body?.cancel();
    return 'stream';
  }
  const body = await response.text();
  if (response.status === 202) return body === '' ? 'accepted' : body;
  const { jsonrpc, result, error } = JSON.parse(body) as Answer;
  expect(jsonrpc, shown).toBe('2.0');
  if (error === undefined) {
    expect(typeof result, shown).toBe('object');
    return 'ok';
  }
  expect(Number.isInteger(error.code), shown).toBe(true);
  expect(Object.hasOwn(CALL_ERRORS, error.data.code), shown).toBe(true);
  return `${String(error.code)} ${error.data.code}`;
}

async function fire(shots: readonly Shot[]): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  for (let from = 0; from < shots.length; from += AT_ONCE) {
    const some = shots.slice(from, from + AT_ONCE);
    const seen = await Promise.all(some.map(async (shot) => kindOf(await send(shot), shot)));
    for (const kind of seen) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

async function servesOn(): Promise<void> {
  const { status, result } = await harness.tool('probe_echo', { text: 'still here' });
  expect({ status, text: result?.content['text'] }).toEqual({ status: 200, text: 'still here' });
}

const MALFORMED = runs(6000);
const CONTRADICTING = runs(4000);

test(`${MALFORMED} malformed requests of both eras`, async () => {
  const shots = fc.sample(fc.record({ body: text, headers }), { numRuns: MALFORMED, seed: SEED }).map(withSession);
  const kinds = await fire(shots);
  expect([...kinds.keys()]).toEqual(
    expect.arrayContaining([
      'ok',
      'accepted',
      '-32700 PARSE_ERROR',
      '-32600 INVALID_REQUEST',
      '-32602 INVALID_REQUEST',
      '-32601 METHOD_NOT_FOUND',
      '-32022 INVALID_REQUEST',
      '-32020 INVALID_REQUEST',
      '-32000 NOT_FOUND',
    ]),
  );
  await servesOn();
});

/** Sessions are named by their number in the generated headers. */
function withSession({ body, headers: given }: { body: string; headers: Partial<Record<string, string>> }): Shot {
  const kept = Object.entries(given).flatMap(([name, value]) => {
    const shown = name === 'mcp-session-id' ? (sessions[Number(value)] ?? value) : value;
    return shown === undefined || shown === '' ? [] : [[name, shown.trim()] as const];
  });
  return { body, headers: Object.fromEntries(kept.filter(([, value]) => value !== '')) };
}

const goodCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'probe_echo', arguments: {}, _meta: META },
};
const mirrors = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'probe_echo' };
type Mirror = keyof typeof mirrors;
const wrongValue = fc.oneof(
  fc.constant(null),
  headerText,
  fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }),
);

test(`${CONTRADICTING} headers that say something else than the body`, async () => {
  const wrong = fc.record({ header: fc.constantFrom(...(Object.keys(mirrors) as Mirror[])), value: wrongValue });
  const shots = fc.sample(wrong, { numRuns: CONTRADICTING, seed: SEED }).flatMap(({ header, value }): Shot[] => {
    const shown = value?.trim() ?? '';
    const says = shown === '=?base64?cHJvYmVfZWNobw==?=' ? 'probe_echo' : shown;
    if (says === mirrors[header]) return [];
    const { [header]: _left, ...others } = mirrors;
    return [{ body: JSON.stringify(goodCall), headers: { ...others, ...(shown === '' ? {} : { [header]: shown }) } }];
  });
  expect(shots.length).toBeGreaterThan(CONTRADICTING * 0.8);
  const kinds = await fire(shots);
  expect([...kinds.keys()]).toEqual(['-32020 INVALID_REQUEST']);
  expect((await send({ body: JSON.stringify(goodCall), headers: mirrors })).status).toBe(200);
  await servesOn();
});
