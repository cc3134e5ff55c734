/** What the gateway tells about tools and processes. */
import { expect } from 'vitest';
import { type Fields, sendTo } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { verifies } from '../verifies.ts';

/** Tools of this release with the parameters that may not be missing. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  brain_corpus: [],
  brain_current: [],
  brain_delete_file: [],
  brain_get_file: [],
  brain_list: [],
  brain_list_files: [],
  brain_load: ['brains'],
  brain_migration_status: [],
  brain_pop: [],
  brain_push: [],
  brain_read: [],
  brain_remove: [],
  brain_save: [],
  brain_stack: [],
  brain_state: [],
  brain_switch: [],
  brain_write: [],
  nodes_list: [],
  svc_branch_auto: [],
  svc_branch_changed_brains: [],
  svc_branch_is_dirty: [],
  svc_call: ['name'],
  svc_commit: ['message'],
  svc_create_branch: ['name'],
  svc_framework_status: [],
  svc_get_islands: [],
  svc_get_memory: ['category', 'filename'],
  svc_health: [],
  svc_list_branches: [],
  svc_lock: [],
  svc_rerank: ['query', 'docs'],
  svc_search: ['query'],
  svc_set_memory: ['category', 'filename', 'content'],
  svc_switch_branch: ['name'],
  svc_sync: [],
  tool_describe: ['names'],
  tool_search: ['query'],
};

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: string;
    readonly properties: Fields;
    readonly required: string[];
    readonly anyOf?: unknown;
    readonly oneOf?: unknown;
  };
}

verifies('gateway:tools:list', async ({ caller }) => {
  const reply = await sendTo(`${caller().url()}/tools`, { method: 'GET' });
  expect(reply.status).toBe(200);
  const { tools } = reply.body as unknown as { tools: ListedTool[] };
  const names = tools.map(({ name }) => name);
  expect(names).toEqual([...names].sort());
  expect(Object.keys(TOOLS).filter((name) => !names.includes(name))).toEqual([]);
  for (const tool of tools) {
    expect(tool, tool.name).toMatchObject({
      description: expect.stringMatching(/\S/),
      inputSchema: {
        type: 'object',
        properties: expect.any(Object),
        required: expect.any(Array),
        additionalProperties: false,
      },
      outputSchema: expect.any(Object),
      annotations: expect.any(Object),
      area: expect.any(String),
      access: expect.any(String),
      effect: expect.stringMatching(/^(read|write-idempotent|write|external)$/),
    });
    const { required, properties, anyOf, oneOf } = tool.inputSchema;
    for (const parameter of TOOLS[tool.name] ?? []) {
      expect(Object.keys(properties), tool.name).toContain(parameter);
      if (anyOf === undefined && oneOf === undefined) expect(required, tool.name).toContain(parameter);
    }
  }
});

verifies('gateway:tools:stable', async ({ place }) => {
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      sendTo(`${place.gateways[index % place.gateways.length]}${index % 2 === 0 ? '/tools' : '/mcp/tools'}`, {
        method: 'GET',
      }),
    ),
  );
  const etag = String(replies[0]?.headers.etag);
  expect(etag).toMatch(/^"[^"]+"$/);
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(new Set(replies.map(({ headers }) => headers.etag))).toEqual(new Set([etag]));
  const again = await sendTo(`${place.gateways.at(-1)}/tools`, { method: 'GET', headers: { 'if-none-match': etag } });
  expect([again.status, again.text]).toEqual([304, '']);
});

verifies('gateway:tools:profile', async ({ caller }) => {
  const user = caller();
  const namesOf = async (path: string, headers: Record<string, string> = {}) => {
    const reply = await user.get(path, headers);
    expect(reply.status).toBe(200);
    return (reply.body as unknown as { tools: ListedTool[] }).tools.map(({ name }) => name);
  };
  const full = await namesOf('/tools');
  expect(await namesOf('/tools?profile=full')).toEqual(full);
  const core = await namesOf('/tools?profile=core');
  expect(core.length).toBeLessThan(full.length);
  expect(core).toContain('svc_search');
  expect(await namesOf('/tools', { 'x-svc-profile': 'core' })).toEqual(core);
  const unknown = await user.get('/tools?profile=nope');
  expect([unknown.status, unknown.body.error?.code]).toEqual([400, 'INVALID_REQUEST']);
});

verifies('gateway:svc-call:inner', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_call', { name: 'brain_write', args: { name: 'x', content: 'one' } });
  const inner = await user.call('brain_read', { name: 'x' });
  expect((await user.call('svc_call', { name: 'brain_read', args: { name: 'x' } })).text).toBe(inner.text);
  expect((await user.call('svc_call', { name: 'brain_read', arguments: { name: 'x' } })).text).toBe(inner.text);
  const unknown = await user.fails('VAF_INPUT_INVALID', 'svc_call', {
    name: 'brain_write',
    args: { name: 'x', content: '', oops: 1 },
  });
  expect(unknown.message).toContain('oops');
  await user.fails('VAF_INPUT_INVALID', 'svc_call', { name: 'svc_call', args: { name: 'brain_list' } });
  await user.fails('TOOL_NOT_FOUND', 'svc_call', { name: 'nope' });
  await user.refused('E_FILE_ABSENT', 'svc_call', { name: 'brain_read', args: { name: 'none' } });
});

verifies('gateway:discovery:search', async ({ caller }) => {
  const user = caller();
  const search = (args: Fields) =>
    user.ok<{ tools: { name: string; score: number }[]; count: number }>('tool_search', args);
  const first = await search({ query: 'commit changes of a brain', limit: 3 });
  expect(first.tools.length).toBeLessThanOrEqual(3);
  expect(first.tools.map(({ name }) => name)).toContain('svc_commit');
  expect(await search({ query: 'commit changes of a brain', limit: 3 })).toEqual(first);
  const { tools } = await search({ query: 'brain file', limit: 20 });
  const order = tools.map(({ score, name }) => [score, name] as const);
  expect(order).toEqual([...order].sort(([a, x], [b, y]) => b - a || (x < y ? -1 : 1)));
  for (const args of [
    {},
    { query: '' },
    { query: 'x', limit: 0 },
    { query: 'x', limit: 21 },
    { query: 'x'.repeat(401) },
  ]) {
    await user.fails('VAF_INPUT_INVALID', 'tool_search', args);
  }
});

verifies('gateway:discovery:describe', async ({ caller }) => {
  const user = caller();
  const described = await user.ok('tool_describe', { names: ['svc_lock', 'svc_serch'] });
  expect(described).toMatchObject({
    tools: [
      {
        name: 'svc_lock',
        inputSchema: { type: 'object', properties: { action: expect.any(Object), token: expect.any(Object) } },
        outputSchema: expect.any(Object),
        access: expect.any(String),
        effect: 'write',
        refusals: expect.arrayContaining(['E_LOCKED', 'E_LEASE_TOKEN']),
      },
    ],
    unknown: [{ name: 'svc_serch', nearest: expect.arrayContaining(['svc_search']) }],
  });
  expect(await user.ok('tool_describe', { name: 'svc_lock' })).toMatchObject({
    tools: [{ name: 'svc_lock' }],
    unknown: [],
  });
});

verifies('gateway:status:nodes', async ({ caller, place }) => {
  const user = caller();
  const { nodes, self } = await user.ok<{ nodes: Fields[]; self: string }>('nodes_list');
  expect(nodes.map(({ id }) => id)).toContain(self);
  for (const node of nodes) {
    expect(node).toMatchObject({
      id: expect.any(String),
      status: expect.stringMatching(/^(alive|stale)$/),
      version: expect.any(String),
    });
  }
  const alive = (service: string) => nodes.filter((node) => node.service === service && node.status === 'alive').length;
  if (place.kind === 'cluster') expect([alive('gateway') >= 2, alive('brain') >= 2]).toEqual([true, true]);
  const framework = async () => (await user.ok<{ status: Fields }>('svc_framework_status')).status;
  // A machine that is full may be late with a check.
  const status = await waitFor(async () => [await framework()].find(({ ready }) => ready === true), {
    what: 'the node to be ready',
  });
  expect(status).toMatchObject({
    platform: place.kind,
    keyed: place.key !== null,
    durability: place.kind === 'cluster' ? 'full' : 'process-crash',
    services: expect.arrayContaining([expect.objectContaining({ name: 'brain', ready: true })]),
  });
});
