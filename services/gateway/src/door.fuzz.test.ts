/** Whatever is sent, the door answers with a code of its own and never fails. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CALL_ERRORS } from '@svc/contract/codes.ts';
import { type Harness, startHarness } from '../testing/harness.ts';

const BODIES = 2000;
const AT_ONCE = 20;

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const names = fc.constantFrom(
  'probe_echo',
  'probe_read',
  'probe_write',
  'svc_call',
  'tool_search',
  '',
  '__proto__',
  'nothing',
);
const call = fc.record(
  {
    jsonrpc: fc.oneof(fc.constant('2.0'), fc.anything()),
    method: fc.oneof(fc.constantFrom('tools/call', 'tools/list'), fc.anything()),
    id: fc.oneof(fc.integer(), fc.string(), fc.anything()),
    params: fc.oneof(
      fc.record(
        {
          name: fc.oneof(names, fc.anything()),
          arguments: fc.oneof(fc.object(), fc.anything()),
          args: fc.anything(),
          _meta: fc.anything(),
        },
        { requiredKeys: [] },
      ),
      fc.anything(),
    ),
    tool: names,
    name: names,
    args: fc.object(),
  },
  { requiredKeys: [] },
);
const text = fc.oneof(
  call.map(asJson),
  fc
    .tuple(call.map(asJson), fc.nat(), fc.string())
    .map(([json, at, junk]) => json.slice(0, at % (json.length + 1)) + junk),
  fc.json({ maxDepth: 80 }),
  fc.string({ unit: 'binary' }),
);

function asJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ?? '';
}

test(`${BODIES} malformed bodies`, async () => {
  const bodies = fc.sample(text, { numRuns: BODIES, seed: 20_260_101 });
  const seen = new Map<string, number>();
  for (let index = 0; index < bodies.length; index += AT_ONCE) {
    const replies = bodies.slice(index, index + AT_ONCE).map(async (body, offset) => {
      const path = offset % 2 === 0 ? '/call' : '/mcp/exec';
      const headers = { 'content-type': 'application/json', 'x-api-key': harness.platform.config.SVC_API_KEY ?? '' };
      const response = await harness.fetch(path, { method: 'POST', headers, body });
      const reply = (await response.json()) as { error?: { code: keyof typeof CALL_ERRORS } };
      expect(response.status, body).toBeLessThan(500);
      expect(response.status, body).toBe(reply.error === undefined ? 200 : CALL_ERRORS[reply.error.code].status);
      const code = reply.error?.code ?? 'ok';
      seen.set(code, (seen.get(code) ?? 0) + 1);
    });
    await Promise.all(replies);
  }
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining([
      'PARSE_ERROR',
      'INVALID_REQUEST',
      'METHOD_NOT_FOUND',
      'TOOL_NOT_FOUND',
      'VAF_INPUT_INVALID',
      'ok',
    ]),
  );
});
