/** What happens when the processes that hold brains start again. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { git } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { ServiceProcess } from '../targets/service-process.ts';
import { brainFolder, type OwnTarget } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget();

async function restart({ brains, whole }: OwnTarget, meanwhile: () => void): Promise<void> {
  await Promise.all(brains.map((one) => one.stop()));
  meanwhile();
  for (const one of brains) one.spawn();
  await whole();
}

const DANGERS = [
  ['filter.evil.clean', 'touch CANARY'],
  ['filter.evil.process', 'touch CANARY'],
  ['core.fsmonitor', 'touch CANARY'],
  ['core.sshCommand', 'touch CANARY'],
  ['http.proxy', 'http://evil.example'],
  ['credential.helper', '!touch CANARY'],
  ['url.https://evil.example/.insteadOf', 'https://'],
  ['include.path', '/tmp/evil'],
  ['merge.evil.driver', 'touch CANARY'],
  ['diff.evil.command', 'touch CANARY'],
] as const;

verifies(
  'brain:git:config',
  async ({ fresh, place }) => {
    const made: { name: string; value: string; brain: string; user: Caller }[] = [];
    for (const [name, value] of DANGERS) {
      const { user, brain } = await fresh();
      await user.ok('brain_write', { name: 'x', content: 'one' });
      made.push({ name, value: value.replace('CANARY', join(place.root, `canary-${brain}`)), brain, user });
    }
    await restart(target.get(), () => {
      for (const { name, value, brain } of made) git(brainFolder(place, brain), 'config', name, value);
    });
    for (const { name, brain, user } of made) {
      for (const [tool, args] of [
        ['brain_read', { name: 'x' }],
        ['brain_write', { name: 'x', content: 'two' }],
        ['svc_commit', { message: 'm' }],
      ] as const) {
        const reply = await user.call(tool, args);
        expect([name, tool, codeOf(reply), reply.status]).toEqual([name, tool, 'BRAIN_LOAD_FAIL', 503]);
      }
      const { problems, brains } = await user.ok<{ problems: unknown[]; brains: Fields[] }>('svc_health');
      expect(JSON.stringify([problems, brains.find((one) => one.name === brain)?.problems]), name).toContain(
        'BRAIN_LOAD_FAIL',
      );
      expect(existsSync(join(place.root, `canary-${brain}`)), name).toBe(false);
      git(brainFolder(place, brain), 'config', '--unset', name);
      const reads = async () => codeOf(await user.call('brain_read', { name: 'x' })) === null;
      await waitFor(reads, { everyMs: 100, what: `the brain to open without ${name}` });
    }
  },
  { on: target },
);

verifies(
  'brain:boot:leftovers',
  async ({ place, socket }) => {
    const user = new Caller(place);
    const brain = newName('b');
    const before = await socket();
    await user.ok('brain_switch', { name: brain, create: true });
    await user.ok('brain_write', { name: 'a/x', content: 'one' });
    const { id } = await before.until('the write', (event) => event.brain === brain && event.file === 'a/x.md');
    const folder = brainFolder(place, brain);
    await restart(target.get(), () => {
      writeFileSync(join(folder, 'a', '.svc-0123456789abcdef.tmp'), 'half a file');
      writeFileSync(join(folder, 'a', 'x.md'), 'changed while it slept');
      writeFileSync(join(folder, 'new.md'), 'new while it slept');
    });

    const content = async () => (await user.call('brain_read', { brain, name: 'a/x' })).body.result?.content;
    await waitFor(async () => (await content()) === 'changed while it slept', {
      what: 'the brain to be served',
    });
    expect(await user.ok('brain_list_files', { brain })).toMatchObject({
      files: [{ file: 'a/x.md' }, { file: 'new.md' }],
    });
    expect(git(folder, 'status', '--porcelain', '--untracked-files=all')).not.toContain('.svc-');
    const after = await socket();
    expect(await after.subscribe({ after: id })).toMatchObject({ ok: true });
    await waitFor(() => after.of(brain, 'brain:change').length >= 2, { what: 'the recovery events' });
    const told = after.of(brain, 'brain:change').map(({ file, change, source }) => [file, change, source].join(' '));
    expect(told.sort()).toEqual(['a/x.md updated recovery', 'new.md created recovery']);
  },
  { on: target },
);

verifies(
  'brain:boot:lock',
  async ({ place }) => {
    const second = new ServiceProcess({
      name: 'second',
      command: ['deploy/embedded.ts'],
      environment: { SVC_DATA_DIR: place.dataDir, SVC_MCP_PORT: '0' },
      root: place.root,
      url: null,
    });
    second.spawn();
    onTestFinished(() => second.dispose(), 30_000);
    expect(await second.ended(20_000)).not.toBe(0);
    const [node] = target.get().brains;
    if (node === undefined) throw new Error('no process');
    await new Caller(place).ok('brain_list');
    await node.kill();
    await node.start();
    await new Caller(place).ok('brain_list');
  },
  { on: target, only: 'embedded' },
);
