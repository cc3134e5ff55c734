/** Many writers in many processes. */
import { expect } from 'vitest';
import { startClientProcess } from '../instruments/client-process.ts';
import { assertSound, filesAt, git, isLinear } from '../instruments/git.ts';
import { WRITES_OF_EACH_PROCESS } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const PROCESSES = 4;

verifies(
  'brain:writers:all-kept',
  async ({ fresh, place, report }) => {
    const { user, brain } = await fresh();
    const startedAt = performance.now();
    const writers = Array.from({ length: PROCESSES }, (_, index) =>
      startClientProcess('writer', {
        place,
        session: `w${index}-${brain}`,
        brain,
        writes: WRITES_OF_EACH_PROCESS,
        label: `p${index}`,
      }),
    );
    for (const writer of writers) expect((await writer.said('done')).failures).toEqual([]);
    const seconds = (performance.now() - startedAt) / 1000;
    report(
      `${PROCESSES * WRITES_OF_EACH_PROCESS} writes of ${PROCESSES} processes in ${seconds.toFixed(1)} s, start of the processes included`,
    );

    const names = Array.from(
      { length: PROCESSES * WRITES_OF_EACH_PROCESS },
      (_, index) => `p${Math.floor(index / WRITES_OF_EACH_PROCESS)}/${index % WRITES_OF_EACH_PROCESS}`,
    );
    const missing: string[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, lane) => {
        for (let index = lane; index < names.length; index += 20) {
          const name = names[index] ?? '';
          const reply = await user.call('brain_read', { name }, { gateway: index });
          if (reply.body.result?.content !== `${name} of ${name.split('/')[0]}`)
            missing.push(`${name}: ${reply.text.slice(0, 100)}`);
        }
      }),
    );
    expect(missing).toEqual([]);
    const committed = await user.ok<{ count: number; files: unknown[]; commit: string }>('svc_commit', {
      message: 'all of them',
    });
    expect([committed.count, committed.files.length]).toEqual([names.length, names.length]);
    const folder = brainFolder(place, brain);
    expect(filesAt(folder, committed.commit).sort()).toEqual(names.map((name) => `${name}.md`).sort());
    assertSound(folder);
    expect([isLinear(folder, 'main'), git(folder, 'rev-list', '--count', 'main')]).toEqual([true, '2']);
  },
  { timeoutMs: 300_000 + WRITES_OF_EACH_PROCESS * 400 },
);

verifies('brain:writers:all-kept', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const acknowledged: string[] = [];
  await Promise.all(
    Array.from({ length: 6 }, async (_, writer) => {
      for (let index = 0; index < 8; index += 1) {
        await user.ok('brain_write', { name: `w${writer}`, content: `${index}` }, { gateway: writer });
        const { commit, committed } = await user.ok<{ commit: string; committed: boolean }>(
          'svc_commit',
          { message: `${writer} ${index}` },
          { gateway: index },
        );
        if (committed) acknowledged.push(commit);
      }
    }),
  );
  const folder = brainFolder(place, brain);
  const history = git(folder, 'rev-list', 'main').split('\n');
  expect(acknowledged.filter((commit) => !history.includes(commit))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(history.length).toBe(acknowledged.length + 1);
  expect(isLinear(folder, 'main')).toBe(true);
  assertSound(folder);
  expect(await user.ok('svc_branch_is_dirty')).toMatchObject({ dirty: false });
});
