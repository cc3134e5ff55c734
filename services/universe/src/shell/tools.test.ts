/** Programs of callers through the dispatcher, in the real sandbox where there is one. */
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migratedDatabase } from '@svc/testing/database.ts';
import { findBubblewrap } from '@svc/testing/servers/bubblewrap.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { habitatService } from '@svc/habitat/service.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { startService } from '@svc/runtime/service.ts';
import { afterAll, expect, test } from 'vitest';
import { universeService } from '../service.ts';

const installed = findBubblewrap();

const folder = mkdtempSync(join(tmpdir(), 'shell-'));
chmodSync(folder, 0o755);
const link = join(folder, 'bwrap');
if (installed !== null) symlinkSync(installed, link);

const database = await migratedDatabase();
/** Behind that of the database, by which a job that goes on is judged. */
const clock = { now: () => Date.now() - 7_200_000 };
const platform = platformOn(database, { clock, bus: createLocalBus({ clock }) }, { SVC_BUBBLEWRAP: link });
const habitat = await startService(platform, habitatService);
const universe = await startService(platform, universeService);

afterAll(async () => {
  await universe.stop();
  await habitat.stop();
  await database.close();
  rmSync(folder, { recursive: true });
});

const TOOLS = ['svc_shell_exec', 'svc_shell_capture', 'svc_shell_spawn'];

async function call(tool: string, args: Fields, over: Parameters<typeof callTool>[4] = {}): Promise<Fields> {
  return (await callTool(platform.bus, 'universe', tool, args, over)).fields;
}

const set = (key: string, value: boolean | string[], on: typeof platform = platform) =>
  createOperationClient(on, HABITAT, 'market').changeSetting({
    key,
    value,
    by: 'operator',
    operator: true,
    idempotency: null,
  });

test('nothing is on at first, and the answer says what to set', async () => {
  for (const tool of TOOLS) {
    expect(await call(tool, { cmd: 'true' })).toMatchObject({
      ok: false,
      code: 'E_DISABLED',
      needs: ['shell.enabled'],
    });
    const stranger = {
      subject: { userId: 'ann', agentId: 'ann', workspace: 'default', verified: true },
      operator: false,
    };
    await expect(call(tool, { cmd: 'true' }, stranger)).rejects.toThrow('FORBIDDEN');
  }
  expect(await call('svc_sandbox_status', {})).toMatchObject({ mode: 'off', shell: { ready: false, probe: null } });
});

test('until it is switched on nothing is started, the sandbox neither', async () => {
  const [noted, wrap] = [join(folder, 'noted'), join(folder, 'noting')];
  writeFileSync(wrap, `#!/bin/sh\necho "$@" >> ${noted}\nexit 1\n`, { mode: 0o755 });
  const noting = platformOn(database, {}, { SVC_BUBBLEWRAP: wrap });
  const registry = await startService(noting, habitatService);
  const alone = await startService(noting, universeService);
  const disabled = async (needs: string) => {
    for (const tool of TOOLS) {
      const { fields } = await callTool(noting.bus, 'universe', tool, { cmd: 'true' });
      expect(fields).toMatchObject({ ok: false, code: 'E_DISABLED', needs: [needs] });
    }
    await callTool(noting.bus, 'universe', 'svc_sandbox_status', {});
    return existsSync(noted);
  };
  expect(await disabled('shell.enabled')).toBe(false);
  await set('shell.enabled', true, noting);
  expect(await disabled('sandbox')).toBe(true);
  await set('shell.enabled', false, noting);
  await alone.stop();
  await registry.stop();
});

test('switched on without bubblewrap nothing runs, and the answer says what the machine lacks', async () => {
  const bare = platformOn(database, {}, { SVC_BUBBLEWRAP: join(folder, 'nothing') });
  const registry = await startService(bare, habitatService);
  const alone = await startService(bare, universeService);
  await set('shell.enabled', true);
  for (const tool of TOOLS) {
    const { fields } = await callTool(bare.bus, 'universe', tool, { cmd: 'true' });
    expect(fields).toMatchObject({ ok: false, code: 'E_DISABLED', needs: ['sandbox'] });
  }
  const { fields } = await callTool(bare.bus, 'universe', 'svc_sandbox_status', {});
  expect(fields).toMatchObject({ mode: 'partial', shell: { enabled: true, ready: false, version: null } });
  await alone.stop();
  await registry.stop();
});

/** Lines on which a shell would act, and programs that are in no list. */
const SYNTAX = [
  'echo a; id',
  'cat $(x)',
  'cat `x`',
  'echo a | sh',
  'echo a & id',
  'echo a && id',
  'echo a > x',
  'cat < x',
  'echo $HOME',

  'echo ${HOME}',
  '(id)',
  '{ id; }',
  'ls *',
  'ls ?',
  'ls [a]',
  'ls ~',
  'echo a # b',
  'echo a\nid',
  'echo a\r\nid',
  "echo 'a",

  'echo "a',
  'echo a\\',
  '   ',
  "''; id",
  'echo >(id)',
  'echo <(id)',
  'echo $((1+1))',
  'echo "a"`id`',
  'echo a\\\nid',
  '!$',
];
const DENIED = [
  'bash -c id',
  '/bin/cat x',
  'sh',
  './echo a',
  '../bin/echo',
  'PATH=. echo',
  'env',
  'perl -e 1',
  'python3',
  'node',
  "'ls '",

  '"echo a"',
  "''",
  'Echo',
  'echo\u00a0a',
  'bwrap',
  'prlimit',
  'unshare',
  'mount',
  'sudo',
  'find',
  'xargs',
  '-c',
  '--',
  'cat/',
  'e\u0441ho',
];
const HARMLESS = ["echo '$(id)'", 'echo "`id`"', "echo ';id'", 'echo \\; id'];

test.skipIf(installed === null)('a line is words and nothing else, and a program is one of the list', async () => {
  await set('shell.enabled', true);
  expect(SYNTAX.length + DENIED.length + HARMLESS.length).toBeGreaterThanOrEqual(60);
  for (const tool of TOOLS) {
    for (const cmd of SYNTAX) expect(await call(tool, { cmd }), cmd).toMatchObject({ code: 'E_SHELL_SYNTAX' });
    for (const cmd of DENIED) expect(await call(tool, { cmd }), cmd).toMatchObject({ code: 'E_SHELL_DENIED' });
  }
  for (const cmd of HARMLESS) expect(JSON.stringify(await call('svc_shell_exec', { cmd })), cmd).not.toContain('uid=');
});

test.skipIf(installed === null)('programs see nothing of the host, and end at their limits', async () => {
  expect(await call('svc_sandbox_status', {})).toMatchObject({
    mode: 'partial',
    shell: { ready: true, version: expect.any(String), probe: { ok: true } },
  });
  expect(await call('svc_shell_exec', { cmd: "echo 'a b'" })).toMatchObject({ ok: true, exitCode: 0, stdout: 'a b\n' });
  expect(await call('svc_shell_exec', { cmd: 'cat /etc/passwd' })).toMatchObject({ ok: false, stdout: '' });
  expect(await call('svc_shell_capture', { cmd: 'false' })).toEqual({ ok: false, output: '', exitCode: 1 });
  const endless = await call('svc_shell_exec', { cmd: 'tail -f /dev/null', timeout: 300 });
  expect(endless).toMatchObject({ ok: false, exitCode: null, timedOut: true });
  const large = await call('svc_shell_exec', { cmd: 'head -c 300000 /dev/zero' });
  expect(large).toMatchObject({ ok: true, truncated: true });
  await set('shell.allow', ['env', 'tail']);
  const { stdout } = await call('svc_shell_exec', { cmd: 'env' });
  expect(stdout).not.toMatch(/SVC_|HOST_/);
});

test.skipIf(installed === null)('a call that is repeated under its key starts no program again', async () => {
  const runs = async () => (await call('svc_sandbox_status', {}))['counters'];
  for (const tool of TOOLS) {
    const over = { idempotencyKey: `of ${tool}` };
    const [first, twin] = await Promise.all([1, 2].map(() => call(tool, { cmd: 'tail -n 1 /dev/null' }, over)));
    expect(first, tool).not.toHaveProperty('code');
    expect(twin, tool).toEqual(first);
    await expect.poll(async () => JSON.stringify(await runs()) === JSON.stringify(await runs())).toBe(true);
    const before = await runs();
    expect(await call(tool, { cmd: 'tail -n 1 /dev/null' }, over), tool).toEqual(first);
    await expect(call(tool, { cmd: 'tail -n 2 /dev/null' }, over)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
    expect(await runs(), tool).toEqual(before);
  }
});

test.skipIf(installed === null)('a spawned program is told of, to who started it', async () => {
  const { jobId } = await call('svc_shell_spawn', { cmd: 'tail -n 1 /usr/bin/env' });
  await expect.poll(async () => (await call('svc_shell_capture', { jobId }))['state']).toBe('exited');
  expect(await call('svc_shell_capture', { jobId: 'job_nothing' })).toMatchObject({ code: 'E_JOB_ABSENT' });
  await expect(call('svc_shell_capture', {})).rejects.toThrow('VAF_INPUT_INVALID');
});

test.skipIf(installed === null)('a token that is bound to a workspace sees what its agent started by it', async () => {
  const spawned = await callTool(platform.bus, 'habitat', 'agent_spawn', { name: 'ann', team: 'shell' });
  const ann = String(spawned.fields['agentId']);
  const asAnn = (bound: string | null) => ({
    subject: { userId: ann, agentId: ann, workspace: bound ?? 'default', verified: true },
    operator: false,
    token: { tokenId: `t-${bound}`, bound, readOnly: false, profile: null, expiresAt: Date.now() + 60_000 },
  });
  await callTool(platform.bus, 'habitat', 'sudo_grant', { agentId: ann, capability: 'exec' });
  const [free, one, other] = [asAnn(null), asAnn('one'), asAnn('other')];
  for (const own of [free, one]) {
    const { jobId } = await call('svc_shell_spawn', { cmd: 'tail -n 1 /usr/bin/env' }, own);
    await expect.poll(async () => (await call('svc_shell_capture', { jobId }, own))['state']).toBe('exited');
    for (const twin of [free, one, other].filter((over) => over !== own))
      expect(await call('svc_shell_capture', { jobId }, twin)).toMatchObject({ code: 'E_JOB_ABSENT' });
    expect(await call('svc_shell_capture', { jobId })).toMatchObject({ state: 'exited' });
  }
});

test.skipIf(installed === null)('what a program that still runs has printed is told, and how it ended', async () => {
  const { jobId, startedAt, killAt } = await call('svc_shell_spawn', { cmd: 'tail -n 1 -f /usr/lib/os-release' });
  expect(Number(killAt) - Number(startedAt)).toBe(60_000);
  const captured = () => call('svc_shell_capture', { jobId });
  await expect.poll(captured).toMatchObject({ state: 'running', output: expect.stringContaining('=') });
});

test.skipIf(installed === null)(
  'a third program of a workspace is refused, and one that cannot start says so',
  async () => {
    await call('svc_shell_spawn', { cmd: 'tail -f /dev/null' });
    for (const tool of TOOLS) await expect(call(tool, { cmd: 'tail' })).rejects.toThrow('RATE_LIMITED');
    rmSync(link);
    const elsewhere = { subject: { workspace: 'elsewhere' } };
    for (const tool of TOOLS) {
      expect(await call(tool, { cmd: 'tail' }, elsewhere)).toMatchObject({ code: 'E_SHELL_SANDBOX' });
    }
  },
);
