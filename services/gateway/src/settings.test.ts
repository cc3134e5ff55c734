/** The settings that the doors go by. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness } from '../testing/harness.ts';
import { KEY } from '../testing/platform.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

let harness: Harness;
afterEach(() => harness.stop());

/** A call at the door that goes by `mcp.requireKey`; the code, or null. */
async function askedAtExec(headers: Record<string, string> = {}): Promise<string | null> {
  const response = await harness.fetch('/mcp/exec', {
    method: 'POST',
    headers: { ...JSON_BODY, ...headers },
    body: JSON.stringify({ tool: 'tool_search', args: { query: 'echo' } }),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return error?.code ?? null;
}

async function listed(headers: Record<string, string> = {}, query = ''): Promise<string[]> {
  const response = await harness.fetch(`/tools${query}`, { headers });
  const { tools } = (await response.json()) as { tools?: { name: string }[] };
  return (tools ?? []).map(({ name }) => name);
}

describe('mcp.requireKey', () => {
  test('opens and closes the door of a node with a key from the next request on, and /call never', async () => {
    harness = await startHarness();
    const keyless = () => harness.fetch('/call', { method: 'POST', headers: JSON_BODY, body: LIST });
    expect(await askedAtExec()).toBe('UNAUTHORIZED');
    harness.registry.setSetting('mcp.requireKey', false);
    expect([await askedAtExec(), (await keyless()).status]).toEqual([null, 401]);
    expect(await askedAtExec({ authorization: 'Bearer wrong-key-0123456789' })).toBe('UNAUTHORIZED');
    harness.registry.setSetting('mcp.requireKey', true);
    expect([await askedAtExec(), await askedAtExec({ authorization: `Bearer ${KEY}` })]).toEqual([
      'UNAUTHORIZED',
      null,
    ]);
    harness.registry.setSetting('mcp.requireKey', null);
    expect(await askedAtExec()).toBe('UNAUTHORIZED');
  });

  test('lets only tokens through on a node without a key when it is set', async () => {
    harness = await startHarness({ environment: { SVC_RATE_LIMIT: 'off' } });
    harness.registry.grant('a1', 'default', 'editor');
    const token = harness.registry.mint('a1');
    expect([await askedAtExec(), await askedAtExec({ 'x-habitat-token': token })]).toEqual([null, null]);
    harness.registry.setSetting('mcp.requireKey', true);
    expect(await askedAtExec()).toBe('UNAUTHORIZED');
    expect(await askedAtExec({ authorization: 'Bearer whatever' })).toBe('UNAUTHORIZED');
    expect(await askedAtExec({ 'x-habitat-token': token })).toBeNull();
    const { result } = await harness.tool('svc_framework_status');
    expect(result?.content).toMatchObject({ status: { keyed: false, requireKey: true } });
  });

  test('keeps what was known last while the registry is away, and is on before it was ever known', async () => {
    harness = await startHarness();
    harness.registry.setSetting('mcp.requireKey', false);
    await harness.registry.leave();
    expect(await askedAtExec()).toBe('UNAUTHORIZED');
    await harness.registry.comeBack();
    expect(await askedAtExec()).toBeNull();
    await harness.registry.leave();
    expect(await askedAtExec()).toBeNull();
    await harness.registry.comeBack();
  });

  test('is what the environment says, whatever is stored', async () => {
    harness = await startHarness({ environment: { ...KEYED, SVC_MCP_REQUIRE_KEY: 'off' } });
    harness.registry.setSetting('mcp.requireKey', true);
    expect(await askedAtExec()).toBeNull();
  });
});

describe('profiles', () => {
  test('that are set shape lists, by header and query, from the next request on', async () => {
    harness = await startHarness();
    expect((await harness.fetch('/tools?profile=mine')).status).toBe(400);
    harness.registry.setSetting('profiles.mine', ['probe_e*', 'svc_framework_status']);
    expect(await listed({}, '?profile=mine')).toEqual(['probe_echo', 'svc_framework_status']);
    expect(await listed({ 'x-svc-profile': 'mine' })).toEqual(['probe_echo', 'svc_framework_status']);
    const reply = await harness.call(LIST, { 'x-svc-profile': 'mine' });
    expect(JSON.stringify(await reply.json())).toContain('"probe_echo"');
    harness.registry.setSetting('profiles.mine', ['tool_*']);
    expect(await listed({}, '?profile=mine')).toEqual(['tool_describe', 'tool_search']);
    harness.registry.setSetting('profiles.mine', null);
    expect((await harness.fetch('/tools?profile=mine')).status).toBe(400);
  });

  test('hold a token to their tools, and to fewer as soon as they shrink', async () => {
    harness = await startHarness();
    harness.registry.grant('a1', 'default', 'editor');
    const as = { authorization: `Bearer ${harness.registry.mint('a1', { profile: 'mine' })}` };
    const codes = async () => {
      const tools = ['probe_echo', 'svc_framework_status', 'tool_search'];
      const replies = await Promise.all(tools.map((name) => harness.tool(name, ARGUMENTS[name], as)));
      return replies.map(({ error }) => error?.code ?? null);
    };
    expect(await codes()).toEqual(['FORBIDDEN', 'FORBIDDEN', null]);
    harness.registry.setSetting('profiles.mine', ['probe_echo', 'svc_*']);
    expect(await codes()).toEqual([null, null, null]);
    const { tools } = await harness.content<{ tools: { name: string }[] }>('tool_search', { query: 'echo' }, as);
    expect(tools.map(({ name }) => name)).toEqual(['probe_echo']);
    expect(await listed(as)).toContain('svc_call');
    const { error } = await harness.tool('probe_ech', {}, as);
    expect(error?.message).not.toContain('probe_slow');
    harness.registry.setSetting('profiles.mine', ['svc_*']);
    expect(await codes()).toEqual(['FORBIDDEN', null, null]);
  });
});

const ARGUMENTS: Record<string, object> = { probe_echo: { text: 'x' }, tool_search: { query: 'echo' } };
