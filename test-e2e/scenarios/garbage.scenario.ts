/** Seeded nonsense at every door: no 5xx, no crash, nothing outside the brain touched. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { assertSound } from '../instruments/git.ts';
import { garbage, type Shot } from '../instruments/garbage.ts';
import { treeHash } from '../instruments/tree-hash.ts';
import { GARBAGE_REQUESTS } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const LANES = 24;

const target = ownTarget({}, { fresh: { gateways: 1, replicas: 1 } });

verifies(
  'gateway:call:garbage',
  async ({ place, random, report }) => {
    const brain = newName('garbage');
    const user = new Caller(place);
    await user.ok('brain_load', { brains: [brain], create: true });
    const { tools } = (await user.get('/tools')).body as unknown as {
      tools: { name: string; inputSchema: { properties: Fields } }[];
    };
    const outside = (): string =>
      treeHash(
        place.root,
        (path) =>
          path === 'logs' ||
          /^data\/(pg|postgres|database|db|cache|journal|audit)/.test(path) ||
          new RegExp(`^data/(brains|worktrees)/(${brain}|svc)(/|$)`).test(path),
      );
    const before = outside();
    const shots = garbage(tools, brain, random);
    const times: number[] = [];
    const wrong: string[] = [];
    const codes = new Map<string, number>();
    const lane = async (): Promise<void> => {
      for (let shot = shots.next(); times.length < GARBAGE_REQUESTS && shot.done !== true; shot = shots.next()) {
        const at = performance.now();
        const reply = await fire(user, shot.value);
        times.push(performance.now() - at);
        const code = codeOf(reply) ?? String(reply.status);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (reply.status >= 500 || reply.status === 0)
          wrong.push(`${reply.status} ${reply.text.slice(0, 200)} <- ${String(shot.value.body).slice(0, 400)}`);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect(wrong.slice(0, 10)).toEqual([]);
    for (const one of [...target.get().gateways, ...target.get().brains]) one.assertRunning();
    await user.ok('svc_lock', { action: 'force', brain });
    await user.ok('brain_write', { brain, branch: 'main', name: 'still', content: 'alive' });
    assertSound(brainFolder(place, brain));
    expect(outside()).toBe(before);
    times.sort((a, b) => a - b);
    const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
    const top = [...codes]
      .sort(([, a], [, b]) => b - a)
      .slice(0, 8)
      .map(([code, count]) => `${code} ${count}`);
    report(`${times.length} malformed requests, 0 x 5xx, p99 ${p99.toFixed(1)} ms; ${top.join(', ')}`);
  },
  { on: target, timeoutMs: 180_000 + GARBAGE_REQUESTS * 8 },
);

function fire(user: Caller, { path, body, headers }: Shot): ReturnType<Caller['send']> {
  return user.send(path, body, { headers });
}
