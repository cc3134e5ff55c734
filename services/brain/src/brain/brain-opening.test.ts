import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '@svc/runtime/log.ts';
import { RepeatedTrouble } from '@svc/runtime/repeated-trouble.ts';
import { expect, it } from 'vitest';
import { makeTestBed, mustRead, saveFiles } from '../../testing/git-test-bed.ts';
import { readTree } from '../git/objects.ts';
import { createGit } from '../git/run.ts';
import { createCounters } from '../writer/counters.ts';
import { openBrainRepository } from './brain-opening.ts';

it('says what is missing in a repository, to each caller, and to the log once for as long as it is the same', async () => {
  await using bed = await makeTestBed();
  const { root, worktreesDir, repository } = bed;
  const lines: string[] = [];
  const log = createLog('info', {}, { write: (line) => void lines.push(line) });
  const parts = { git: createGit(), counters: createCounters(), dataDir: root };
  const tools = { ...parts, platform: { log }, trouble: new RepeatedTrouble() };
  const open = () => openBrainRepository(tools, { name: 'b', folder: repository.dir, worktrees: worktreesDir });
  await saveFiles(repository, { 'a.md': '1' });
  const { oid = '' } = (await readTree(repository, await mustRead(repository, 'main'))).get('a.md') ?? {};
  const object = join(repository.gitDir, 'objects', oid.slice(0, 2), oid.slice(2));
  rmSync(object);
  for (let round = 0; round < 3; round += 1)
    await expect(open()).rejects.toMatchObject({ code: 'BRAIN_LOAD_FAIL', message: expect.stringContaining(oid) });
  expect(lines).toHaveLength(1);
  rmSync(repository.gitDir, { recursive: true });
  await expect(open()).rejects.toThrow('.git is missing');
  expect(lines).toHaveLength(2);
});
