/** Search by meaning, with an endpoint that makes vectors and one that writes, which fail. */
import { expect } from 'vitest';
import { type FakeEmbedder, startFakeEmbedder } from '@svc/testing/embedder.fake.ts';
import type { Caller } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { ownTarget, verifies } from '../verifies.ts';

let embedder: FakeEmbedder;
const target = ownTarget(async () => {
  embedder = await startFakeEmbedder();
  return {
    environment: {
      SVC_EMBED_URL: embedder.url,
      SVC_EMBED_MODEL: 'fake',
      SVC_CHAT_URL: embedder.url,
      SVC_CHAT_MODEL: 'writer',
    },
    async dispose() {
      await embedder[Symbol.asyncDispose]();
    },
  };
});
const on = { on: target };

interface Found {
  readonly results: { file: string; content: string; score: number }[];
  readonly total: number;
  readonly degraded?: string[];
  readonly embedder?: string;
}
interface Health {
  readonly index: { pendingVectors: number; embedder: string };
  readonly problems: { code: string }[];
}

const search = (user: Caller, args: object) => user.ok<Found>('svc_search', { ...args });
const filesOf = ({ results }: Found) => results.map(({ file }) => file);
const near = (user: Caller, brain: string, query: string) => user.ok<Found>('svc_search_semantic', { brain, query });

/** Until just these files are near, the first of them the nearest. While nothing can be said, it is asked again. */
const nearFiles = (user: Caller, brain: string, query: string, files: readonly string[]) =>
  waitFor(
    async () => {
      const found = filesOf(await near(user, brain, query));
      return found[0] === files[0] && found.length === files.length && files.every((file) => found.includes(file));
    },
    { what: `${files.join()} near ${query}`, everyMs: 100, ignoreErrors: () => true },
  );

verifies(
  'search:semantic',
  async ({ fresh }) => {
    const { user, brain } = await fresh();
    await user.ok('brain_write', { brain, name: 'harbour', content: 'The boat waits for the tide.' });
    await user.ok('brain_write', { brain, name: 'purse', content: 'Coins are counted twice.' });
    await nearFiles(user, brain, 'vessel', ['harbour.md', 'purse.md']);
    await nearFiles(user, brain, 'cash', ['purse.md', 'harbour.md']);
    expect(await near(user, brain, 'vessel')).toMatchObject({ mode: 'semantic', embedder: 'fake' });
    expect(filesOf(await search(user, { brain, query: 'vessel' }))).toContain('harbour.md');
    expect((await search(user, { brain, query: 'vessel', mode: 'plain' })).results).toEqual([]);
    expect((await user.ok<Health>('svc_health')).index.embedder).toBe('fake');
    // Each passage was asked about once, by whichever process.
    expect(embedder.asked.filter((text) => text === 'Coins are counted twice.')).toHaveLength(1);
    embedder.written = 'A swift vessel.';
    expect(await user.ok('svc_search_hyde', { brain, query: 'tide' })).toMatchObject({
      hypothetical: 'A swift vessel.',
      source: 'model',
    });
    await user.ok('brain_remove', { brain, name: 'harbour' });
    expect(filesOf(await near(user, brain, 'vessel'))).not.toContain('harbour.md');
  },
  on,
);

verifies(
  'search:semantic:rules',
  async ({ fresh, place }) => {
    const { user: operator, brain } = await fresh();
    const members = await createMembers(place, 'editor', 'editor');
    const { id, caller: owner } = memberAt(members, 0);
    const { caller: reader } = memberAt(members, 1);
    const policy = { readableBy: [`user:${id}`], writableBy: [`user:${id}`], container: 'public' };
    await operator.ok('brain_write', { brain, name: 'secret/plan', content: 'A fast boat.' });
    await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/secret`, policy });
    await operator.ok('brain_write', { brain, name: 'open', content: 'The vessel.' });
    await nearFiles(owner, brain, 'fast ship', ['secret/plan.md', 'open.md']);
    expect(await near(reader, brain, 'fast ship')).toMatchObject({ total: 1, results: [{ file: 'open.md' }] });
    for (const mode of ['semantic', 'hybrid', 'hyde', 'multiquery'])
      expect(JSON.stringify(await search(reader, { brain, query: 'fast ship', mode }))).not.toContain('secret');
  },
  on,
);

verifies(
  ['search:dead-embedder', 'search:vectors-back'],
  async ({ fresh }) => {
    const { user, brain } = await fresh();
    await user.ok('brain_write', { brain, name: 'note0', content: 'A home.' });
    await nearFiles(user, brain, 'dwelling', ['note0.md']);
    const files = ['note0.md'];
    for (const [place, mood] of (['failing', 'slow', 'other length', 'garbage', 'reset', 'gone'] as const).entries()) {
      const name = `note${place + 1}`;
      embedder.mood = mood;
      await user.ok('brain_write', { brain, name, content: `The lighthouse ${name}: a dwelling.` });
      const began = performance.now();
      const inTime = { headers: { 'x-svc-timeout-ms': '5000' } };
      const found = await user.ok<Found>('svc_search', { brain, query: `lighthouse ${name}` }, inTime);
      expect(filesOf(found)[0]).toBe(`${name}.md`);
      expect(found.degraded).toEqual(['semantic']);
      await user.refused('E_EMBEDDER_UNAVAILABLE', 'svc_search_semantic', { brain, query: `dwelling ${name}` });
      // Three seconds of patience, ten for who cannot do without, and a busy machine.
      expect(performance.now() - began).toBeLessThan(25_000);
      embedder.mood = 'well';
      files.push(`${name}.md`);
      await waitFor(async () => filesOf(await near(user, brain, 'home')).length === files.length, {
        what: `a vector of ${name}`,
        everyMs: 100,
        ignoreErrors: () => true,
      });
    }
  },
  { ...on, timeoutMs: 240_000 },
);
