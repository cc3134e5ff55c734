import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openBrainTestBed } from '../brain-test-bed.ts';
const N = Number(process.env['BIG'] ?? 20000);
it('big', async () => {
  const bed = await openBrainTestBed();
  const out = mkdtempSync(join(tmpdir(), 'big-'));
  const git = (cwd: string, ...a: string[]) =>
    execFileSync('git', ['-c', 'user.name=P', '-c', 'user.email=p@x', ...a], {
      cwd,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
  git(out, 'init', '-q', '--bare', '-b', 'main', 'r.git');
  const node = await bed.start({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `r=file://${join(out, 'r.git')}` });
  await node.call('brain_write', { name: 'base', content: 'b' });
  await node.call('svc_commit', { message: 'b' });
  await node.call('svc_sync', { remote: 'r', direction: 'push' });
  git(out, 'clone', '-q', join(out, 'r.git'), 'c');
  for (let i = 0; i < N; i++) {
    const d = join(out, 'c', `d${i % 200}`);
    if (i < 200) mkdirSync(d, { recursive: true });
    writeFileSync(join(d, `f${i}.md`), `# file ${i}\n` + `some text of file ${i} about things\n`.repeat(50));
  }
  git(join(out, 'c'), 'add', '-A');
  git(join(out, 'c'), 'commit', '-qm', 'x');
  git(join(out, 'c'), 'push', '-q');
  const lat: number[] = [];
  let stop = false;
  const writer = (async () => {
    for (let i = 0; !stop; i++) {
      const t = performance.now();
      await node
        .call('brain_write', { name: `w/${i}`, content: `${i}`, branch: 'main' }, { deadlineAt: Date.now() + 120_000 })
        .catch((e) => console.log('ERR', e.message));
      lat.push(performance.now() - t);
      await new Promise((r) => setTimeout(r, 20));
    }
  })();
  const t = performance.now();
  const res = await node.call('svc_sync', { remote: 'r', direction: 'pull' }, { deadlineAt: Date.now() + 300_000 });
  const dt = performance.now() - t;
  await new Promise((r) => setTimeout(r, 1500));
  stop = true;
  await writer;
  lat.sort((a, b) => a - b);
  console.log('PULL', Math.round(dt), JSON.stringify(res).slice(0, 300));
  console.log(
    'LAT n',
    lat.length,
    'p50',
    lat[lat.length >> 1],
    'p99',
    lat[Math.floor(lat.length * 0.99)],
    'max',
    lat.slice(-5).map(Math.round),
  );
  console.log('RSS', process.memoryUsage().rss / 1e6);
  expect(res['pulled']).toMatchObject({ added: N });
  await node.stop();
  await bed[Symbol.asyncDispose]();
}, 600_000);
