/** Members of a workspace, each a process with a session of its own, who write into every kind of memory at once. */
import { expect } from 'vitest';
import { startClientProcess } from '../instruments/client-process.ts';
import { createMembers } from '../instruments/members.ts';
import { changesOf, SHARED_FILE } from '../instruments/shared-work.ts';
import { WRITES_OF_EACH_MEMBER } from '../settings.ts';
import { newName, verifies } from '../verifies.ts';

const MEMBERS = 4;
/** A person writes for as long as it takes. */
const PATIENCE_MS = 60_000 + WRITES_OF_EACH_MEMBER * 2000;

verifies(
  'members:at-once',
  async ({ fresh, place, report }) => {
    const { user, brain } = await fresh();
    await user.ok('svc_storage_write', { brain, path: SHARED_FILE, content: 'begun 0\n' });
    const { members } = await createMembers(place, ...Array.from({ length: MEMBERS }, () => 'editor'));
    const startedAt = performance.now();
    const processes = members.map(({ caller }, index) =>
      startClientProcess('member', {
        place,
        session: newName('s'),
        brain,
        writes: WRITES_OF_EACH_MEMBER,
        label: `m${index}`,
        headers: caller.headers(),
      }),
    );
    let lost = 0;
    for (const one of processes) {
      const written = await one.said('written', PATIENCE_MS);
      expect(written['failures']).toEqual([]);
      lost += Number(written['lost']);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    for (const one of processes) one.resume();
    const seen = [];
    for (const one of processes) seen.push(await one.said('done', PATIENCE_MS));
    const all = MEMBERS * WRITES_OF_EACH_MEMBER;
    const changes = MEMBERS * changesOf(WRITES_OF_EACH_MEMBER);
    const whole = { count: all, different: all };
    expect(seen[0]).toMatchObject({
      files: whole,
      dropped: whole,
      links: whole,
      values: whole,
      descendants: whole,
      lineage: { total: all + MEMBERS, edges: all },
      // A session of work of each.
      insights: { count: MEMBERS, different: MEMBERS },
      noted: { count: all },
      counted: { found: true, value: changes, version: changes },
      lines: { count: changes + 1, different: changes + 1 },
    });
    for (const other of seen) expect(other).toEqual(seen[0]);
    // Nobody had what all share for itself.
    expect(lost).toBeGreaterThan(0);
    report(
      `${MEMBERS} processes wrote ${6 * all} things and changed two shared ones ${changes} times each in ` +
        `${seconds.toFixed(1)} s, ${lost} times on what another had changed; all read the same`,
    );
  },
  { timeoutMs: 300_000 + 2 * PATIENCE_MS },
);
