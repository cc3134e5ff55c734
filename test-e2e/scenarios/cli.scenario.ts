/**
 * `svc`, the real program against real nodes: each command, as a script has it. It knows nothing but a door, and doors
 * are the same everywhere, so one target is enough.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@svc/testing/servers/ports.ts';
import { expect, onTestFinished } from 'vitest';
import { selfSigned } from '../instruments/certificate.ts';
import { CommandLine, LAUNCHER, quoted } from '../instruments/command-line.ts';
import { folder, onOwnBrain } from '../instruments/own-command-line.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

function selfSignedServer(): ServerOptions {
  const { key, certificate: cert } = selfSigned();
  return { key, cert };
}

const EMBEDDED = { only: 'embedded' } as const;
const PROTOCOL = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

verifies(
  'cli:commands',
  async ({ keyed }) => {
    const { svc, brain } = await onOwnBrain({ place: keyed });
    const text = 'High water at six.\nNo newline at the end — 水位';
    expect(await svc.rows('set', 'notes/tides', text)).toMatchObject([
      { file: 'notes/tides.md', created: true, brain },
    ]);
    expect((await svc.run(['get', 'notes/tides'])).stdout).toBe(text);
    expect(await svc.rows('get', 'notes/tides', '--json')).toMatchObject([{ content: text, brain }]);
    const piped = await svc.run(['set', 'notes/pipe'], { stdin: 'from a pipe\n' });
    expect(JSON.parse(piped.stdout)).toMatchObject({ file: 'notes/pipe.md', bytes: 12 });
    const waiting = svc.start(['set', 'notes/never']);
    onTestFinished(() => void waiting.kill('SIGKILL'));
    const left = new Promise<number | null>((resolve) => waiting.once('close', resolve));
    // It is there, and waits for the end of what it is given, once it has taken what is more than a pipe holds.
    await new Promise((resolve) => waiting.stdin?.write('x'.repeat(500_000), resolve));
    waiting.kill('SIGINT');
    expect(await left).toBe(130);
    expect((await svc.run(['get', 'notes/never'])).code).toBe(3);
    const asLaunched = [process.execPath, LAUNCHER, 'set', 'notes/pipe'].map(quoted).join(' ');
    expect(await svc.program(['sh', '-c', `${asLaunched} < /`])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('stdin cannot be read: EISDIR'),
    });
    expect((await svc.run(['get', 'notes/pipe'])).stdout).toBe('from a pipe\n');
    const cwd = folder();
    writeFileSync(join(cwd, 'plan.md'), 'a plan');
    expect((await svc.run(['set', 'notes/plan', '-f', 'plan.md'], { cwd })).code).toBe(0);

    expect(await svc.rows('commit', '-m', 'three notes')).toMatchObject([{ committed: true, count: 3 }]);
    expect(await svc.rows('log', '-n', '1')).toMatchObject([{ message: 'three notes' }]);
    expect((await svc.rows('log', 'notes/plan'))[0]).toMatchObject({ message: 'three notes' });
    expect(await svc.rows('search', 'high', 'water')).toMatchObject([{ file: 'notes/tides.md' }]);

    await svc.rows('branch', 'create', 'spring');
    expect(await svc.rows('branch')).toContainEqual(expect.objectContaining({ name: 'spring', current: true }));
    await svc.rows('set', 'notes/spring', 'tide');
    await svc.rows('commit', '-m', 'spring');
    expect(await svc.rows('branch', 'switch', 'main')).toMatchObject([{ branch: 'main' }]);
    expect(await svc.rows('branch', 'merge', 'spring')).toMatchObject([{ merged: true }]);
    expect(await svc.rows('branch', 'delete', 'spring')).toMatchObject([{ deleted: true }]);
    expect((await svc.run(['get', 'notes/spring'])).stdout).toBe('tide');

    const listed = await svc.rows('tools');
    expect(listed.length).toBeGreaterThan(100);
    expect((await svc.rows('tools', 'write', 'a', 'file')).map(({ name }) => name)).toContain('brain_write');
    expect(await svc.rows('describe', 'svc_search')).toMatchObject([{ name: 'svc_search', effect: 'read' }]);
    expect((await svc.rows('call', 'svc_search', 'query=tide', 'limit=1'))[0]?.['results']).toHaveLength(1);
    expect(await svc.rows('call', 'svc_search', '--json', '{"query":"tide","limit":1}')).toMatchObject([
      { query: 'tide' },
    ]);
    expect(await svc.rows('call', 'svc_config_set', 'key=notes.language', 'value=en')).toMatchObject([{ value: 'en' }]);
    // not for a moment in which a busy machine lets the node wait
    await expect.poll(() => svc.rows('status')).toMatchObject([{ ready: true, brains: expect.any(Array) }]);
    expect(await svc.rows('doctor')).toContainEqual(expect.objectContaining({ name: 'node', state: 'ok' }));

    const [agent] = await svc.rows('call', 'agent_spawn', 'name=scout');
    const id = String(agent?.['agentId']);
    const { stdout: token } = await svc.run(['token', 'mint', id, '--ttl', '1h', '-q']);
    const asAgent = await svc.run(['call', 'svc_habitat_status'], { env: { SVC_TOKEN: token.trim(), SVC_KEY: '' } });
    expect(JSON.parse(asAgent.stdout)).toMatchObject({ currentWorkspace: 'default' });
    const [minted] = await svc.rows('token', 'list', '--of', id);
    expect(await svc.rows('token', 'revoke', String(minted?.['tokenId']))).toEqual([{ revoked: true }]);
    const [other] = await svc.rows('call', 'agent_spawn', 'name=idle');
    const idle = String(other?.['agentId']);
    expect(await svc.run(['token', 'list', '--of', idle])).toMatchObject({ code: 0, stdout: '' });
    expect(await svc.run(['token', 'mint', idle, '--workspace', 'absent'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/has no role in a workspace absent[^]*default/),
    });
    const launched = await svc.program([process.execPath, LAUNCHER, '--version']);
    expect(launched).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  },
  EMBEDDED,
);

verifies(
  'cli:exit-codes',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    const said = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { code, stdout, stderr } = await svc.run(args, { env });
      expect(stdout).toBe('');
      return { code, stderr };
    };
    const nobody = `http://127.0.0.1:${await freePort()}`;
    expect(await said(['sync'])).toMatchObject({ code: 3, stderr: expect.stringContaining('E_NOT_CONFIGURED') });
    expect(await said(['get', 'absent'])).toMatchObject({ code: 3 });
    expect(await said(['stauts'])).toMatchObject({ code: 2, stderr: expect.stringContaining('status') });
    expect(await said(['call', 'svc_serch', 'query=x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('svc_search'),
    });
    expect(await said(['call', 'svc_search', 'query=x', 'limit=many'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('limit: "many" is no number'),
    });
    expect(await said(['call', 'brain_write', '--json', '{"nam":1}'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('content'),
    });
    expect(await said(['commit'])).toMatchObject({ code: 2 });
    const noArea = await said(['tools', '--area', 'brnches']);
    expect(noArea).toMatchObject({ code: 2, stderr: expect.stringContaining('branches') });
    for (const wrong of [
      ['start', '-p', 'many'],
      ['mcp', '-d', ''],
      ['tools', '--profile', 'absent'],
      ['tools', 'write', '--profile', 'core'],
      ['status', '--session', 'two words'],
      ['status', '--session', ''],
      ['set', 'as-whom', 'x', '--agent', ''],
      ['call', 'svc_commit', 'message=x', '--idempotency-key', 'two words'],
      ['call', 'svc_commit', 'message=x', '--idempotency-key', '十二'],
    ])
      expect(await said(wrong), wrong.join(' ')).toMatchObject({ code: 2 });
    for (const absent of [
      ['get', 'absent', '--brain', 'absent'],
      ['token', 'mint', 'absent', '--workspace', 'absent'],
      ['token', 'list', '--of', 'absent'],
    ])
      expect(await said(absent), absent.join(' ')).toMatchObject({ code: 3 });
    expect(await said(['status', '--url', nobody])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('svc start'),
    });
    expect(await said(['watch', '--url', nobody])).toMatchObject({ code: 4 });
    const elsewhere = `${scenario.place.gateways[0] ?? ''}/behind/a/path`;
    for (const command of [['status'], ['tools'], ['watch'], ['set', 'a', 'b']])
      expect(await said([...command, '--url', elsewhere]), command[0]).toMatchObject({ code: 4 });
    expect(await said(['status', '--url', 'ftp://x'])).toMatchObject({ code: 2 });
    const untrusted = createServer(selfSignedServer()).listen(0, '127.0.0.1');
    await once(untrusted, 'listening');
    onTestFinished(() => void untrusted.close());
    const behindTls = `https://127.0.0.1:${(untrusted.address() as AddressInfo).port}`;
    expect(await said(['set', 'a', 'b', '--url', behindTls])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('its certificate is not trusted'),
    });
    expect((await svc.run(['doctor', '--url', nobody])).code).toBe(1);
    expect(await said(['status'], { SVC_TOKEN: `svc_${'0'.repeat(43)}` })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('SVC_TOKEN'),
    });
    const { stderr } = await said(['get', 'absent', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'E_FILE_ABSENT', exit: 'refused' } });
    const closed = await svc.program([
      'sh',
      '-c',
      `${[process.execPath, LAUNCHER, 'tools'].map(quoted).join(' ')} | true`,
    ]);
    expect(closed.stderr).toBe('');
  },
  EMBEDDED,
);

verifies(
  'cli:commands',
  async ({ place }) => {
    const svc = new CommandLine(place, newName('session'));
    const hello = { jsonrpc: '2.0', id: 7, method: 'server/discover', params: { _meta: PROTOCOL } };
    const { stdout } = await svc.run(['mcp'], { stdin: `${JSON.stringify(hello)}\n` });
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(answers).toEqual([expect.objectContaining({ id: 7, result: expect.any(Object) })]);
    const started = svc.start(['start', '-p', '0', '-d', join(folder(), 'data')]);
    onTestFinished(() => void started.kill('SIGKILL'));
    let said = '';
    started.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = new Promise<number | null>((resolve) => started.once('close', resolve));
    await waitFor(() => said.includes('listening on'), { what: 'the node to be there' });
    started.kill('SIGINT');
    expect(await ended).toBe(0);
  },
  { ...EMBEDDED, title: 'svc start runs a node until Ctrl-C, svc mcp speaks nothing but the protocol' },
);

const restarted = ownTarget({}, { only: 'embedded' });

verifies(
  'cli:watch',
  async (scenario) => {
    const { svc, brain } = await onOwnBrain(scenario);
    const watching = svc.start(['watch', 'brain:change']);
    onTestFinished(() => void watching.kill('SIGKILL'));
    let heard = '';
    watching.stdout?.setEncoding('utf8').on('data', (text: string) => (heard += text));
    const events = (): Record<string, unknown>[] =>
      heard
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const ended = new Promise<number | null>((resolve) => watching.once('close', resolve));
    // Nobody tells when the watch begins, so it is written until something is heard.
    let count = 0;
    await waitFor(
      async () => {
        await svc.rows('set', 'first', String((count += 1)));
        return events().length > 0;
      },
      { what: 'the watch to hear something' },
    );
    const [node] = restarted.get().gateways;
    await node?.kill();
    await node?.start();
    await svc.rows('set', 'while-away', 'missed', '--brain', brain);
    await waitFor(() => events().some(({ file }) => file === 'while-away.md'), { what: 'what happened meanwhile' });
    const ids = events().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    watching.kill('SIGINT');
    expect(await ended).toBe(130);
  },
  { ...EMBEDDED, on: restarted },
);

verifies(
  'cli:exit-codes',
  async () => {
    const { place, gateways } = restarted.get();
    const svc = new CommandLine(place, newName('session'));
    const [node] = gateways;
    node?.signal('SIGSTOP');
    await delay(1500);
    node?.signal('SIGCONT');
    const { stdout, code } = await svc.run(['doctor']);
    expect(code, stdout).toBe(0);
  },
  { ...EMBEDDED, on: restarted, title: 'a node that stood still until now is well again before it is told of' },
);
