/** What an agent is told at the start of its work. */
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import type { Caller } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';
import { waitFor } from '../instruments/wait-for.ts';

interface Built {
  readonly assembled: string;
  readonly tokens: number;
  readonly cache: { state: string; breakpoints: { after: string; hash: string }[] };
  readonly citations: { file: string; lines: [number, number]; commit: string | null; hash: string }[];
}

const build = (user: Caller, args: object): Promise<Built> => user.ok<Built>('context_build', { ...args });
const hashAfter = ({ cache }: Built, layer: string) => cache.breakpoints.find(({ after }) => after === layer)?.hash;

verifies('context:budget', async ({ fresh, random }) => {
  const { user, brain } = await fresh();
  const words = Array.from({ length: 60 }, () => `w${random.int(0, 1e6).toString(36)}`);
  const sentence = () => `${Array.from({ length: 12 }, () => words[random.int(0, 59)]).join(' ')}.`;
  const paragraphs = () => Array.from({ length: random.int(1, 12) }, sentence).join('\n\n');
  for (const name of ['goals', 'lessons', 'a', 'b', 'c/d'])
    await user.ok('brain_write', { brain, name, content: `# ${name}\n\n${paragraphs()}` });
  await user.ok('svc_commit', { brain, message: 'notes' });
  for (let round = 0; round < 10; round += 1) {
    const budget = random.int(256, 2000);
    const wish = { brain, budget, query: words[random.int(0, 59)] };
    const first = await build(user, wish);
    expect(first.tokens).toBe(Math.ceil(Buffer.byteLength(first.assembled) / 4));
    expect(first.tokens).toBeLessThanOrEqual(budget);
    for (const {
      file,
      lines: [from, to],
      commit,
      hash: of,
    } of first.citations) {
      const { content } = await user.ok<{ content: string }>('brain_read', { brain, name: file, at: commit });
      expect(hash('sha256', content)).toBe(of);
      expect(first.assembled).toContain(
        content
          .split('\n')
          .slice(from - 1, to)
          .join('\n')
          .trim(),
      );
    }
    expect(await build(user, wish)).toMatchObject({ assembled: first.assembled });
  }
  const wish = { brain, query: words[0] };
  // Whoever works on the brain keeps its contexts, one of at most as many as there are processes, until a boundary changes somewhere.
  await waitFor(async () => (await build(user, wish)).cache.state === 'hit', { what: 'a context that was kept' });
});

verifies('context:breakpoints', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { brain, name: 'goals', content: 'Stay afloat.' });
  await user.ok('svc_create_island', { brain, name: 'ops', triggers: ['ships'], content: 'Roll one by one.' });
  await user.ok('brain_write', { brain, name: 'k', content: 'knowledge of ships' });
  const before = await build(user, { brain, query: 'ships' });
  await user.ok('brain_write', { brain, name: 'k', content: 'knowledge of many ships' });
  const after = await build(user, { brain, query: 'ships' });
  for (const layer of ['static', 'islands']) expect(hashAfter(after, layer)).toBe(hashAfter(before, layer));
  expect(hashAfter(after, 'knowledge')).not.toBe(hashAfter(before, 'knowledge'));
  expect(await user.ok('context_layers')).toMatchObject({
    layers: ['static', 'tools', 'islands', 'knowledge', 'history', 'dynamic'],
  });
  expect(await user.ok('context_cache', { model: 'claude-sonnet' })).toMatchObject({ supported: true });
});

verifies('context:hidden', async ({ place, fresh, caller }) => {
  const { brain } = await fresh();
  const members = await createMembers(place, 'admin', 'editor');
  const [ann, bob] = [memberAt(members, 0).caller, memberAt(members, 1).caller];
  const operator = caller();
  const island = newName('island');
  const gate = { readableBy: ['role:admin'], writableBy: ['role:admin'], container: members.workspace };
  await operator.ok('svc_create_island', { brain, name: island, triggers: ['quay'], content: 'The canary sings.' });
  await operator.ok('brain_write', { brain, name: 'open', content: 'The quay is open.' });
  await operator.ok('svc_habitat_setPolicy', { resource: `_island:${island}`, policy: gate });
  const wish = { brain, query: 'quay' };
  expect((await build(ann, wish)).assembled).toContain('canary');
  const hidden = await build(bob, wish);
  expect(JSON.stringify(hidden)).not.toContain('canary');
  expect(JSON.stringify(hidden)).not.toContain(island);
  expect(hidden.assembled).toContain('quay is open');
});

verifies('context:brain', async ({ fresh }) => {
  const { user, brain } = await fresh();
  const other = await fresh();
  await other.user.ok('brain_write', { name: 'goals', content: 'Of the other brain: zebra.' });
  await user.ok('brain_write', { brain, name: 'goals', content: 'Of this brain: giraffe.' });
  await user.ok('brain_push', { name: other.brain });
  const built = await build(user, { brain, query: 'brain' });
  expect(built.assembled).toContain('giraffe');
  expect(built.assembled).not.toContain('zebra');
});

verifies('context:session', async ({ fresh }) => {
  const { user, brain } = await fresh();
  const { user: stranger } = await fresh();
  await build(user, { brain, budget: 300 });
  await build(stranger, { budget: 400 });
  const inspected = await user.ok('context_inspect', {}, { gateway: 1 });
  expect(inspected).toMatchObject({ built: true, brain, budget: 300 });
  await user.ok('brain_write', { brain, name: 'goals', content: 'Changed.' });
  expect(await user.ok('context_refresh', {}, { gateway: 1 })).toMatchObject({ brain, changed: true });
  expect(await user.ok('context_refresh')).toMatchObject({ brain, changed: false });
});

verifies('context:attention', async ({ fresh }) => {
  const { user, brain } = await fresh();
  for (const name of ['a', 'b', 'c']) await user.ok('brain_write', { brain, name, content: `Text of ${name}.` });
  await user.ok('svc_commit', { brain, message: 'three' });
  await user.ok('brain_attend', { brain, name: 'c', score: 0.4 });
  await user.ok('brain_attend', { brain, name: 'b', score: 0.9 });
  expect((await build(user, { brain })).citations.map(({ file }) => file)).toEqual(['b.md', 'c.md', 'a.md']);
  const island = { name: newName('quay'), triggers: ['quay'], source: ['notes'], content: 'Roll one by one.' };
  await user.ok('svc_create_island', { brain, ...island });
  await user.ok('brain_write', { brain, name: 'notes/tide', content: 'High at noon.' });
  const called = await build(user, { brain, query: 'the quay' });
  expect(called.citations.map(({ file }) => file)).toEqual([`islands/${island.name}.md`, 'notes/tide.md']);
  expect(called.assembled).toContain('High at noon.');
});

verifies('context:heartbeat', async ({ fresh, caller }) => {
  const { user, brain } = await fresh();
  await build(user, { brain });
  const beat = (action: string, gateway: number) => user.ok('context_heartbeat', { action }, { gateway });
  expect(await beat('start', 0)).toMatchObject({ running: true, beats: 0, intervalMs: 240_000 });
  for (const gateway of [0, 1, 0, 1]) expect(await beat('status', gateway)).toMatchObject({ running: true });
  expect(await caller().ok('context_heartbeat')).toMatchObject({ action: 'status', running: false });
  expect(await beat('stop', 1)).toMatchObject({ running: false });
  expect(await beat('status', 0)).toMatchObject({ running: false });
});

verifies('embed:builtin', async ({ fresh }) => {
  const { user } = await fresh();
  const { vector, dim } = await user.ok<{ vector: number[]; dim: number }>('svc_embed', { text: 'deploy failed' });
  expect([dim, vector.length]).toEqual([512, 512]);
  expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
  const near = async (textA: string, textB: string) =>
    (await user.ok<{ similarity: number }>('svc_embed_similarity', { textA, textB })).similarity;
  expect(await near('', 'x')).toBe(0);
  expect(await near('x', 'x')).toBe(1);
  expect(await near('deploy failed', 'deployment failure')).toBeGreaterThan(
    await near('deploy failed', 'banana bread'),
  );
});
