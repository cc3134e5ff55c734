/** Agents at /mcp, with the clients that agents use. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { workspaceWith, mint } from '../instruments/workspaces.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

interface Agent {
  tools(): Promise<string[]>;
  /** Of the list of tools as it was sent. */
  listBytes(): Promise<number>;
  /** What a tool answered; throws when it refused. */
  ok(name: string, args?: Fields): Promise<Fields>;
  no(name: string, args?: Fields): Promise<unknown>;
  resources(): Promise<string[]>;
  read(uri: string): Promise<string>;
  close(): Promise<void>;
}

interface Answered {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly _meta?: Record<string, unknown> | undefined;
  readonly content?: unknown;
}

type Era = '2026' | '2025';

async function connect(place: TargetPlace, era: Era, { token = place.key, gateway = 0 } = {}): Promise<Agent> {
  const url = new URL(`${place.gateways[gateway % place.gateways.length]}/mcp`);
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  const client = era === '2026' ? await connectModern(url, options) : await connectLegacy(url, options);
  const call = async (name: string, args: Fields = {}) =>
    (await client.callTool({ name, arguments: args })) as Answered;
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    listBytes: async () => Buffer.byteLength(JSON.stringify((await client.listTools()).tools)),
    async ok(name, args) {
      const { isError, structuredContent, content } = await call(name, args);
      if (isError === true) throw new Error(`${name}: ${JSON.stringify(content)}`);
      return structuredContent as Fields;
    },
    async no(name, args) {
      const { isError, _meta } = await call(name, args);
      expect(isError).toBe(true);
      return _meta?.['svc/code'];
    },
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    async read(uri) {
      const [first] = (await client.readResource({ uri })).contents;
      return first !== undefined && 'text' in first ? first.text : '';
    },
    close: () => client.close(),
  };
}

async function connectModern(url: URL, options: { requestInit: RequestInit }): Promise<Client> {
  const client = new Client({ name: 'e2e', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(url, options));
  return client;
}

async function connectLegacy(url: URL, options: { requestInit: RequestInit }): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'e2e', version: '1' });
  await client.connect(new LegacyTransport(url, options));
  return client;
}

const ERAS: readonly Era[] = ['2026', '2025'];

/** Of the list that an agent reads first, four bytes taken for a token. */
const MAX_CORE_TOKENS = 2500;

verifies('mcp:clients', async ({ keyed: place, report }) => {
  for (const era of ERAS) {
    const [first, second] = [await connect(place, era), await connect(place, era, { gateway: 1 })];
    expect(await first.tools()).toEqual(expect.arrayContaining(['svc_set_memory', 'svc_search', 'svc_call']));
    const tokens = Math.ceil((await first.listBytes()) / 4);
    report(`the list of core, ${era}: ${tokens} tokens`);
    expect(tokens).toBeLessThanOrEqual(MAX_CORE_TOKENS);
    const brain = newName('mcp');
    await first.ok('svc_call', { name: 'brain_push', args: { name: brain, create: true } });
    await first.ok('svc_set_memory', { brain, category: 'notes', filename: 'harbour', content: 'the tide turns' });
    await first.ok('svc_commit', { brain, message: 'first' });
    expect(await second.ok('svc_get_memory', { brain, category: 'notes', filename: 'harbour' })).toMatchObject({
      content: 'the tide turns',
    });
    expect(JSON.stringify(await second.ok('svc_search', { brain, query: 'tide' }))).toContain('notes/harbour.md');
    await Promise.all([first.close(), second.close()]);
  }
});

verifies('mcp:resources', async ({ keyed: place }) => {
  const operator = new Caller(place);
  const { workspace, ids } = await workspaceWith(place, 'admin', 'editor');
  const [adminToken = '', editorToken = ''] = await Promise.all(ids.map((id) => mint(place, id)));
  const brain = newName('mcp');
  await operator.with({ key: adminToken }).ok('brain_push', { name: brain, create: true });
  for (const name of ['open/Über uns.md', 'hidden/pay.md'])
    await operator.with({ key: adminToken }).ok('brain_write', { brain, name, content: `this is ${name}` });
  await operator.with({ key: adminToken }).ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/hidden`,
    policy: { readableBy: ['role:admin'], writableBy: ['role:admin'], container: workspace },
  });
  const [open, hidden] = [`brain:///${brain}/open/%C3%9Cber%20uns.md`, `brain:///${brain}/hidden/pay.md`];
  for (const era of ERAS) {
    const [admin, editor] = [
      await connect(place, era, { token: adminToken }),
      await connect(place, era, { token: editorToken }),
    ];
    expect(await admin.read(hidden)).toBe('this is hidden/pay.md');
    expect(await editor.read(open)).toBe('this is open/Über uns.md');
    const failure = (uri: string) =>
      editor.read(uri).then(
        () => 'it was read',
        ({ message }: Error) => message.replaceAll(uri, ''),
      );
    const absent = await failure(`brain:///${brain}/hidden/none.md`);
    expect(absent).not.toBe('it was read');
    expect((await failure(hidden)).replaceAll('pay', 'none')).toBe(absent);
    await editor.ok('svc_call', { name: 'brain_switch', args: { name: brain } });
    expect(await editor.resources()).toEqual([open]);
    await Promise.all([admin.close(), editor.close()]);
  }
});

verifies(
  'mcp:authority',
  async ({ keyed: place }) => {
    const { ids } = await workspaceWith(place, 'editor');
    const held = await mint(place, ids[0], { profile: 'escrow' });
    for (const era of ERAS) {
      const agent = await connect(place, era, { token: held });
      const tools = await agent.tools();
      expect(tools).toContain('escrow_status');
      expect(tools.filter((name) => name.startsWith('brain_'))).toEqual([]);
      expect(await agent.no('brain_list')).toBe('FORBIDDEN');
      expect(await agent.no('svc_call', { name: 'brain_list' })).toBe('FORBIDDEN');
      const { tools: found } = await agent.ok('tool_search', { query: 'brain list files', limit: 20 });
      const names = (found as { name: string }[]).map(({ name }) => name);
      expect(names.filter((name) => !tools.includes(name))).toEqual([]);
      expect(await agent.no('escrow_canSpend', { agentId: newName('nobody'), amount: 1 })).toEqual(expect.any(String));
      await agent.close();
    }
  },
  { title: 'a token that is held to a profile' },
);

/** Whoever may call with these, at any gateway. */
async function openedSession(place: TargetPlace): Promise<{
  readonly free: string;
  readonly held: string;
  list(headers: Record<string, string>): Promise<number>;
}> {
  const { ids } = await workspaceWith(place, 'editor');
  const [free, held] = [await mint(place, ids[0]), await mint(place, ids[0], { profile: 'escrow' })];
  const raw = (headers: Record<string, string>, body: Fields) =>
    fetch(`${place.gateways[1] ?? place.gateways[0]}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${free}`, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    });
  const begin = await raw({}, { method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  const session = begin.headers.get('mcp-session-id') ?? '';
  return {
    free,
    held,
    list: async (headers) => (await raw({ 'mcp-session-id': session, ...headers }, { method: 'tools/list' })).status,
  };
}

verifies(
  'mcp:authority',
  async ({ keyed: place }) => {
    const { held, list } = await openedSession(place);
    expect(await list({})).toBe(200);
    // Both tokens are of one agent, and so of one principal.
    expect(await list({ authorization: `Bearer ${held}` })).toBe(200);
    expect(await list({ authorization: `Bearer ${place.key}` })).toBe(404);
    const { ids } = await workspaceWith(place, 'admin');
    expect(await list({ authorization: `Bearer ${await mint(place, ids[0])}` })).toBe(404);
  },
  { title: 'a session of another principal' },
);

verifies(
  'mcp:authority',
  async ({ keyed: place }) => {
    const { list } = await openedSession(place);
    expect(await list({ origin: 'https://evil.example' })).toBe(403);
    expect(await list({})).toBe(200);
  },
  { title: 'a foreign origin' },
);
