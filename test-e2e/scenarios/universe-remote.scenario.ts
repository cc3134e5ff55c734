/** Other nodes. Here the other node is the same one, by an address that operators listed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';
import { deployment } from '../instruments/deployments.ts';
import { git } from '../instruments/git.ts';
import { followGuide, readGuide, settingsIn } from '../instruments/guide.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { API_KEY, logsOf } from '../targets/target.ts';
import { newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const GUIDE = join(import.meta.dirname, '..', '..', 'docs', 'remote.md');
const WRONG = 'wrong-token-of-another-node-0123456789';
const target = ownTarget({
  SVC_API_KEY: API_KEY,
  SVC_REMOTE_TOKEN_B: API_KEY,
  SVC_REMOTE_TOKEN_WRONG: WRONG,
  SVC_SYNC_ALLOW_FILE: 'on',
});
const on = { on: target };

const list = (operator: Caller, endpoints: readonly string[] | null) =>
  operator.ok('svc_config_set', { key: 'network.allowPrivate', value: endpoints });

/** The same deployment as another one, under a name of its own. */
async function addSelf({ place, caller }: Scenario, more: Fields = {}): Promise<{ operator: Caller; name: string }> {
  const operator = caller();
  const { host, origin } = new URL(place.gateways[0] ?? '');
  await list(operator, [host]);
  onTestFinished(async () => void (await list(operator, null)));
  const name = newName('node');
  const config = { name, url: origin, tokenRef: 'SVC_REMOTE_TOKEN_B', ...more };
  await operator.ok('svc_remote_addProvider', { type: 'node', config });
  return { operator, name };
}

verifies(
  'remote:called',
  async (scenario) => {
    const { operator, name } = await addSelf(scenario);
    const ears = await scenario.socket({ gateway: 1 });
    const answer = await operator.ok('svc_remote_call', { host: name, tool: 'svc_health', args: {} });
    expect(answer).toMatchObject({ ok: true, host: name, tool: 'svc_health' });
    expect(answer['result']).toMatchObject({ content: { version: expect.any(String), brains: expect.any(Array) } });
    await ears.until(
      'a call',
      ({ name: event, host, ok }) => event === 'remote:called' && host === name && ok === true,
    );
    expect(await operator.ok('svc_connector_connect', { service: `remote:${name}` })).toMatchObject({
      connected: true,
    });
    const wrong = await addSelf(scenario, { tokenRef: 'SVC_REMOTE_TOKEN_WRONG' });
    const refused = await operator.refused('E_REMOTE_ERROR', 'svc_remote_call', {
      host: wrong.name,
      tool: 'svc_health',
    });
    expect(refused['remote']).toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
    await operator.refused('E_AUTH', 'svc_connector_connect', { service: `remote:${wrong.name}` });
    const unset = await addSelf(scenario, { tokenRef: 'SVC_REMOTE_TOKEN_UNSET' });
    expect(
      await operator.refused('E_NOT_CONFIGURED', 'svc_connector_connect', { service: `remote:${unset.name}` }),
    ).toMatchObject({ missing: ['SVC_REMOTE_TOKEN_UNSET'] });
    const { caller: ann, id } = memberAt(await createMembers(scenario.place, 'editor'), 0);
    await ann.fails('FORBIDDEN', 'svc_remote_call', { host: name, tool: 'svc_health' });
    await operator.ok('sudo_grant', { agentId: id, capability: 'network:127.0.0.1' });
    await ann.ok('svc_remote_call', { host: name, tool: 'svc_health' });
    await operator.ok('svc_remote_removeProvider', { id: name });
    await operator.refused('E_REMOTE_ABSENT', 'svc_remote_removeProvider', { id: name });
    for (const event of ['remote:added', 'remote:removed']) {
      await ears.until(event, ({ name: heard }) => heard === event);
      const audited = async () => {
        const { entries } = await operator.ok('svc_audit_list', { event });
        return (entries as { data: Fields }[]).some(({ data }) => data['name'] === name) || null;
      };
      await waitFor(audited, { what: `${event} in the audit` });
    }
  },
  on,
);

verifies(
  'remote:added',
  async (scenario) => {
    const { operator, name } = await addSelf(scenario);
    const { origin } = new URL(scenario.place.gateways[0] ?? '');
    const add = (config: Fields, type = 'node') => ['svc_remote_addProvider', { type, config }] as const;
    const same = await operator.ok(...add({ name, url: `${origin}/`, tokenRef: 'SVC_REMOTE_TOKEN_B' }));
    expect(same['provider']).toMatchObject({ name, tokenSet: true, url: origin });
    await operator.refused('E_REMOTE_TAKEN', ...add({ name, url: origin }));
    await operator.refused('E_REMOTE_TAKEN', ...add({ name, url: 'https://example.org/x.git' }, 'git'));
    await operator.fails('VAF_INPUT_INVALID', ...add({ name: newName('x'), url: origin, brain: 'svc' }));
    for (const url of [
      'https://10.0.0.1',
      'https://[::ffff:10.0.0.1]',
      'https://169.254.169.254',
      'http://127.0.0.1:9',
    ]) {
      await operator.refused('E_ADDRESS_DENIED', ...add({ name: newName('x'), url }));
    }
    for (const config of [
      { url: 'http://example.org' },
      { url: 'https://user:secret@example.org' },
      { url: 'ftp://example.org' },
      { url: origin, token: WRONG },
      { url: origin, tokenRef: 'HOST_TOKEN' },
      { url: origin, tokenRef: WRONG },
    ]) {
      await operator.fails('VAF_INPUT_INVALID', ...add({ name: newName('x'), ...config }));
    }
    await operator.refused('E_REMOTE_ABSENT', 'svc_remote_call', { host: 'http://10.0.0.1', tool: 'svc_health' });
    const { providers } = await operator.ok('svc_remote_listProviders');
    expect(JSON.stringify(providers)).not.toContain(API_KEY);
    for (const secret of [WRONG, API_KEY]) expect(logsOf(scenario.place)).not.toContain(secret);
  },
  on,
);

verifies(
  'remote:loop',
  async (scenario) => {
    const { operator, name } = await addSelf(scenario);
    const through = (nodes: number): Fields =>
      nodes === 0
        ? { host: name, tool: 'svc_health', args: {} }
        : { host: name, tool: 'svc_remote_call', args: through(nodes - 1) };
    expect(JSON.stringify(await operator.ok('svc_remote_call', through(2)))).toContain('"brains"');
    const text = JSON.stringify(await operator.ok('svc_remote_call', through(3)));
    expect(text).toContain('E_REMOTE_LOOP');
    expect(text).not.toContain('"brains"');
    const headers = { 'x-svc-hops': '3' };
    await operator.refused('E_REMOTE_LOOP', 'svc_remote_call', through(0), { headers });
    await operator.fails('INVALID_REQUEST', 'svc_health', {}, { headers: { 'x-svc-hops': 'many' } });
  },
  on,
);

/** A repository of its own, as a remote is given it. */
function bareRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-added-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  git(folder, 'init', '-q', '--bare', '-b', 'main', 'r.git');
  return `file://${join(folder, 'r.git')}`;
}

verifies(
  'remote:git',
  async ({ caller }) => {
    const operator = caller();
    const url = bareRepository();
    const [name, brain, other] = [newName('r'), newName('b'), newName('b')];
    const add = (config: Fields) =>
      ['svc_remote_addProvider', { type: 'git', config: { name, url, ...config } }] as const;
    for (const each of [brain, other]) {
      await operator.ok('brain_load', { brains: each, create: true });
      await operator.ok('brain_save', { brain: each, name: 'note.md', content: each });
    }
    await operator.refused('E_NOT_CONFIGURED', 'svc_sync', { brain, remote: name, direction: 'push' });
    for (const wrong of [
      { url: 'https://user:secret@example.org/x.git' },
      { url: 'http://example.org/x.git' },
      { name: 'with.dot' },
      { tokenRef: 'SVC_REMOTE_TOKEN_B' },
      { brain: newName('absent') },
    ]) {
      await operator.fails('VAF_INPUT_INVALID', ...add(wrong));
    }
    expect(JSON.stringify(await operator.ok('svc_remote_listProviders'))).not.toContain(name);

    const added = await Promise.all(
      Array.from({ length: 8 }, (_, gateway) => caller({ gateway }).ok(...add({ brain }))),
    );
    const [id] = new Set(added.map((answer) => answer['added']));
    expect(new Set(added.map((answer) => answer['added']))).toEqual(new Set([id]));
    expect(added[0]?.['provider']).toMatchObject({
      id,
      type: 'git',
      name,
      url,
      brain,
      tokenRef: null,
      lastError: null,
    });
    await operator.refused('E_REMOTE_TAKEN', ...add({ brain: other }));
    await operator.refused('E_REMOTE_TAKEN', ...add({ brain, url: `${url}x` }));
    await operator.refused('E_REMOTE_TAKEN', 'svc_remote_addProvider', {
      type: 'node',
      config: { name, url: 'https://example.org' },
    });
    await operator.refused('E_REMOTE_ABSENT', 'svc_remote_call', { host: name, tool: 'svc_health' });

    expect(await operator.ok('svc_sync', { brain, remote: name, direction: 'push' })).toMatchObject({ synced: true });
    await operator.refused('E_NOT_CONFIGURED', 'svc_sync', { brain: other, remote: name, direction: 'push' });
    expect(await operator.ok('svc_sync_status', { brain })).toMatchObject({
      remotes: [{ name, url, ahead: 0, behind: 0 }],
    });
    expect(await operator.ok('svc_connector_connect', { service: `remote:${name}` })).toMatchObject({
      connected: true,
    });

    await operator.ok('brain_delete', { name: brain, confirm: brain });
    const { providers } = await operator.ok('svc_remote_listProviders');
    expect(providers).toContainEqual(expect.objectContaining({ id, brain: null, lastError: 'E_REMOTE_ABSENT' }));
    expect(await operator.ok(...add({ brain: other }))).toMatchObject({ added: id, provider: { brain: other } });
    const renamed = newName('b');
    await operator.ok('brain_rename', { name: other, to: renamed });
    expect(await operator.ok('svc_sync', { brain: renamed, remote: name, direction: 'push' })).toMatchObject({
      synced: true,
    });
    expect(await operator.ok('svc_remote_removeProvider', { id: name })).toEqual({ removed: id });
    await operator.refused('E_NOT_CONFIGURED', 'svc_sync', { brain: renamed, remote: name, direction: 'push' });
    await operator.refused('E_REMOTE_ABSENT', 'svc_remote_removeProvider', { id: String(id) });
  },
  on,
);

verifies(
  'remote:silent',
  async ({ caller, socket }) => {
    const operator = caller();
    const ears = await socket();
    const other = createServer((request, response) => {
      if (request.url?.startsWith('/endless') === true) response.end(`{"result":"${'x'.repeat(2 ** 20)}"}`);
      if (request.url?.startsWith('/odd') === true) response.writeHead(302, { location: '/endless/call' }).end();
    });
    const { port } = await listening(other);
    await list(operator, [`127.0.0.1:${port}`, '127.0.0.1:1']);
    const at = async (url: string): Promise<string> => {
      const name = newName('node');
      await operator.ok('svc_remote_addProvider', { type: 'node', config: { name, url } });
      return name;
    };
    const base = `http://127.0.0.1:${port}`;
    const calls = { tool: 'svc_health', args: {} };
    const headers = { 'x-svc-timeout-ms': '2000' };
    const silent = await at(`${base}/silent`);
    // Its refusal comes a quarter of a second before the door's own word for the same; a machine that is busy turns them.
    expect(codeOf(await operator.call('svc_remote_call', { host: silent, ...calls }, { headers }))).toBe(
      'E_OUTCOME_UNKNOWN',
    );
    await ears.until(
      'the call without an answer',
      ({ name, host, code }) => name === 'remote:called' && host === silent && code === 'E_OUTCOME_UNKNOWN',
    );
    await operator.refused('E_TOO_LARGE', 'svc_remote_call', { host: await at(`${base}/endless`), ...calls });
    const odd = await operator.refused('E_REMOTE_ERROR', 'svc_remote_call', {
      host: await at(`${base}/odd`),
      ...calls,
    });
    expect(odd['remote']).toMatchObject({ code: 'HTTP_302', status: 302 });
    const away = await at('http://127.0.0.1:1');
    await operator.refused('E_UNREACHABLE', 'svc_remote_call', { host: away, ...calls });
    await operator.refused('E_UNREACHABLE', 'svc_connector_connect', { service: `remote:${away}` });
    await list(operator, null);
    await operator.refused('E_ADDRESS_DENIED', 'svc_remote_call', { host: silent, ...calls });
  },
  on,
);

verifies(
  'guides:remote',
  async () => {
    const [first, second] = await Promise.all(settingsIn(GUIDE).map((settings) => deployment(settings)));
    const addressOf = (of: typeof first): string => of?.target.place.gateways[0] ?? '';
    const steps = readGuide(GUIDE).map((step) => ({
      ...step,
      commands: step.commands.replaceAll('127.0.0.1:4457', new URL(addressOf(second)).host),
    }));
    const answers = await followGuide(steps, addressOf(first));
    expect(steps.filter(({ answer }) => answer !== null).length).toBeGreaterThan(5);
    for (const [index, { answer, line }] of steps.entries()) {
      const { result } = JSON.parse(answers[index]?.at(-1) ?? '') as { result: Fields };
      expect(result['content'], `line ${line}`).toMatchObject(answer as object);
    }
  },
  { only: 'embedded' },
);

async function listening(server: Server): Promise<AddressInfo> {
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return server.address() as AddressInfo;
}
