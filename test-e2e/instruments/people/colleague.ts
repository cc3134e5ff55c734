/** Somebody else who shares the remote, from a clone of her own. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Ground, personGit, textOf } from './ground.ts';
import type { Act } from './plan.ts';

export async function act({ remote, history }: Ground, wish: Act): Promise<string> {
  const { bare, clone } = remote;
  const { path, verb } = wish;
  if (!existsSync(clone)) await personGit(dirname(clone), 'clone', '-q', bare, clone);
  await personGit(clone, 'checkout', '-q', '-B', 'main');
  if ((await personGit(clone, 'fetch', '-q', 'origin')).ok)
    await personGit(clone, 'reset', '-q', '--hard', 'origin/main');
  const file = join(clone, path);
  const from = performance.now();
  await rm(file, { force: true, recursive: true });
  if (verb === 'publish') {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, textOf(wish));
  }
  await personGit(clone, 'add', '-A');
  if (!(await personGit(clone, 'commit', '-q', '-m', `${verb} ${path}`)).ok) return 'nothing to do';
  const pushed = await personGit(clone, 'push', '-q', 'origin', 'main');
  // It reaches the brain with a later sync, which takes no bytes that only the brain has.
  if (pushed.ok && verb === 'withdraw')
    history.removals.push({ deletes: true, path, from, to: Number.POSITIVE_INFINITY });
  return pushed.ok ? 'pushed' : `not pushed: ${pushed.output.slice(0, 100)}`;
}
