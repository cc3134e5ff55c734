import { CALL_ERRORS, Refusal } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { decodeReply, encodeEnvelope, type Envelope } from '@svc/contract/rpc.ts';
import { type Tool, toolFor } from '@svc/contract/tool.ts';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createDispatch } from './dispatch.ts';
import { createMetrics } from './metrics.ts';

interface Deps {
  readonly seen: unknown[];
  readonly keyOwners?: string[];
}

const defineTool = toolFor<Deps>();
const sample = {
  area: 'core',
  description: 'A sample.',
  access: 'public',
  effect: 'write',
  input: z.strictObject({ name: z.string(), size: z.int().optional(), note: z.string().nullable().optional() }),
  output: z.strictObject({ echoed: z.string() }),
} as const;

const tools = [
  defineTool({
    ...sample,
    name: 'echo',
    refuses: ['E_LOCKED'],
    dress: { echoed: false },
    aliases: {
      title: 'name',
      pair: {
        into: ['name', 'size'],
        expand: (value) => (Array.isArray(value) ? { name: String(value[0]), size: Number(value[1]) } : null),
      },
    },
    async handler(input, { deps, take, idempotency }) {
      deps.seen.push(input);
      if (idempotency !== null) {
        deps.seen.push(idempotency.argsHash);
        deps.keyOwners?.push(idempotency.principal);
      }
      if (input.name === 'locked') take(deny('E_LOCKED', { holder: 'a' }));
      return { echoed: input.name };
    },
  }),
  defineTool({
    ...sample,
    name: 'bare',
    output: z.strictObject({ content: z.string() }),
    refuses: ['E_FILE_ABSENT'],
    async handler({ name }, { refuse }) {
      if (name === 'none') throw refuse('E_FILE_ABSENT');
      return { content: '{"error":"x"}' };
    },
  }),
  defineTool({ ...sample, name: 'gated', access: 'identified', refuses: [], handler: async () => ({ echoed: '' }) }),
  defineTool({ ...sample, name: 'operators', access: 'operator', refuses: [], handler: async () => ({ echoed: '' }) }),
  defineTool({
    ...sample,
    name: 'buggy',
    refuses: [],
    async handler() {
      throw new Error('secret path /etc/shadow');
    },
  }),
  defineTool({
    ...sample,
    name: 'full',
    refuses: [],
    async handler({ name }) {
      if (name === 'refused') throw new Refusal('E_STATE_WRITE');
      if (name.startsWith('away')) throw Object.assign(new Error(`${name} refused`), { code: 'ECONNREFUSED' });
      throw Object.assign(new Error('could not extend file'), { code: '53100' });
    },
  }),
  defineTool({
    ...sample,
    name: 'liar',
    refuses: [],
    handler: async () => JSON.parse('{"echoed": 1}') as { echoed: string },
  }),
] satisfies Tool<Deps>[];

function setUp() {
  const deps = { seen: [] as unknown[], keyOwners: [] as string[] };
  const logged: unknown[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  const platform = { clock: { now: () => 1000 }, log, metrics: createMetrics() };
  const dispatch = createDispatch({ tools, deps, platform });
  async function call(tool: string, args: Record<string, unknown>, over: Partial<Envelope> = {}) {
    const envelope: Envelope = {
      tool,
      args,
      subject: {},
      operator: false,
      principal: 'local',
      session: 'a'.repeat(64),
      requestId: 'r1',
      deadlineAt: 2000,
      door: 'call',
      ...over,
    };
    const reply = decodeReply(await dispatch(encodeEnvelope(envelope)));
    return reply.ok ? { ...reply, result: JSON.parse(reply.body) as unknown } : reply;
  }
  return { deps, call, logged };
}

describe('dispatch', () => {
  it('wraps a result in content, and leaves a bare one as it is', async () => {
    const { call } = setUp();
    expect(await call('echo', { name: 'a' })).toMatchObject({
      ok: true,
      result: { content: { echoed: 'a' } },
      refusal: null,
    });
    expect(await call('bare', { name: 'a' })).toMatchObject({ result: { content: '{"error":"x"}' } });
  });

  it('dresses refusals, and shows those of bare tools twice', async () => {
    const { call } = setUp();
    const refused = await call('echo', { name: 'locked' });
    expect(refused).toMatchObject({ ok: true, refusal: 'E_LOCKED' });
    expect(refused).toMatchObject({
      result: { content: { echoed: false, holder: 'a', code: 'E_LOCKED', error: expect.any(String) } },
    });
    const bare = await call('bare', { name: 'none' });
    expect(bare).toMatchObject({ result: { code: 'E_FILE_ABSENT', content: { code: 'E_FILE_ABSENT' } } });
  });

  it('tells each bug, and of a disk that refuses with every call, and a database that is away, once', async () => {
    const { call, logged } = setUp();
    for (let round = 0; round < 3; round += 1) {
      for (const name of ['thrown', 'refused'])
        expect(await call('full', { name })).toMatchObject({ failure: { code: 'SERVICE_UNAVAILABLE' } });
    }
    expect(logged).toMatchObject([{ err: { message: 'could not extend file' } }, { tool: 'full' }]);
    for (const name of ['away1', 'away2', 'away3'])
      expect(await call('full', { name })).toMatchObject({ failure: { code: 'SERVICE_UNAVAILABLE' } });
    expect(logged).toMatchObject([{}, {}, { err: { message: 'away1 refused' } }]);
    for (let round = 0; round < 3; round += 1) await call('buggy', { name: 'a' });
    expect(logged).toHaveLength(6);
  });

  it('resolves aliases, drops nulls without meaning, keeps those with one', async () => {
    const { call, deps } = setUp();
    await call('echo', { title: 'a', size: null, note: null, unknown: null });
    await call('echo', { pair: ['b', 2] });
    expect(deps.seen).toEqual([
      { name: 'a', note: null },
      { name: 'b', size: 2 },
    ]);
  });

  it('names every problem of the arguments, with the nearest known name', async () => {
    const { call, deps } = setUp();
    const failed = await call('echo', { nam: 1, size: 1.5 });
    expect(failed).toMatchObject({ ok: false, failure: { code: 'VAF_INPUT_INVALID', status: 400 } });
    const problems = failed.ok ? [] : (failed.failure.data['problems'] as { path: string; message: string }[]);
    expect(problems.map(({ path }) => path).sort()).toEqual(['nam', 'name', 'size']);
    expect(problems.find(({ path }) => path === 'nam')?.message).toContain('name');
    expect(await call('echo', { name: 'a', title: 'b' })).toMatchObject({ failure: { code: 'VAF_INPUT_INVALID' } });
    expect(deps.seen).toEqual([]);
  });

  it('tells who guessed the name of an argument all that there are', async () => {
    const { call } = setUp();
    const failed = await call('echo', { name: 'a', payload: 1 });
    const [problem] = failed.ok ? [] : (failed.failure.data['problems'] as { path: string; message: string }[]);
    expect(problem).toEqual({ path: 'payload', message: expect.stringMatching(/^is not known; known: .*name, /) });
  });

  it('judges static access and the deadline before anything else', async () => {
    const { call } = setUp();
    expect(await call('gated', {})).toMatchObject({ failure: { code: 'UNAUTHORIZED' } });
    expect(await call('gated', { name: '' }, { subject: { userId: 'u' } })).toMatchObject({ ok: true });
    expect(await call('operators', {}, { subject: { userId: 'u' } })).toMatchObject({
      failure: { code: 'FORBIDDEN', message: 'operators is for operators.' },
    });
    expect(await call('operators', { name: '' }, { operator: true })).toMatchObject({ ok: true });
    expect(await call('echo', {}, { deadlineAt: 1000 })).toMatchObject({ failure: { code: 'TIMEOUT' } });
  });

  it('scopes a key to equal arguments, whatever their order', async () => {
    const { call, deps } = setUp();
    await call('echo', { name: 'a', size: 1 }, { idempotencyKey: 'k' });
    await call('echo', { size: 1, name: 'a' }, { idempotencyKey: 'k' });
    await call('echo', { name: 'a', size: 2 }, { idempotencyKey: 'k' });
    const hashes = deps.seen.filter((item) => typeof item === 'string');
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });

  it('keeps the keys of agents apart that act behind the door of one operator', async () => {
    const { call, deps } = setUp();
    const keyed = (over: Partial<Envelope>) => call('echo', { name: 'a' }, { idempotencyKey: 'k', ...over });
    const behindKey = { principal: 'key:node', operator: true };
    await keyed({ ...behindKey, subject: { agentId: 'ann' } });
    await keyed({ ...behindKey, subject: { userId: 'ben' } });
    await keyed({ ...behindKey, subject: { workspace: 'acme' } });
    await keyed({ principal: 'tok:ann', subject: { agentId: 'ann', verified: true } });
    expect(deps.keyOwners).toEqual(['key:node as ann', 'key:node as ben', 'key:node', 'tok:ann']);
  });

  it('keeps the keys of a token that is bound to a workspace apart from those of its agent elsewhere', async () => {
    const { call, deps } = setUp();
    const ann = { principal: 'tok:ann', subject: { agentId: 'ann', verified: true } };
    const limits = { tokenId: 'tok_1', readOnly: false, profile: null, expiresAt: 9e12 };
    for (const bound of [null, 'acme', 'acme', 'other'])
      await call('echo', { name: 'a' }, { idempotencyKey: 'k', ...ann, token: { ...limits, bound } });
    expect(deps.keyOwners).toEqual(['tok:ann', 'tok:ann in acme', 'tok:ann in acme', 'tok:ann in other']);
  });

  it('answers a bug, also a result that breaks its promise, with a fixed sentence', async () => {
    const { call } = setUp();
    for (const tool of ['buggy', 'liar']) {
      const failed = await call(tool, { name: 'a' });
      expect(failed).toMatchObject({ failure: { code: 'INTERNAL', message: CALL_ERRORS.INTERNAL.meaning, data: {} } });
    }
  });

  it('survives payloads that are no envelopes', async () => {
    const { call } = setUp();
    expect(await call('none', {})).toMatchObject({ failure: { code: 'TOOL_NOT_FOUND' } });
    const platform = { clock: { now: () => 0 }, log: pino({ level: 'silent' }), metrics: createMetrics() };
    const dispatch = createDispatch({ tools, deps: { seen: [] }, platform });
    for (const payload of ['', '[]', '{"tool":1}']) expect(decodeReply(await dispatch(payload)).ok).toBe(false);
  });
});
