import { beforeAll, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

type Rows = { id: string; score: number; preview: string }[];

const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const bed = await bedOfFile();
const node = await bed.start();
const ann = testCaller(() => node, ANN);
const nobody = testCaller(() => node, {});
const ids = (found: Record<string, unknown>, kind: string) => (found[kind] as Rows).map(({ id }) => id);

beforeAll(async () => {
  for (const who of ['ann', 'harbour-pilot']) bed.registry.grant(who, 'acme', 'editor');
  bed.registry.grant('harbour-stranger', 'elsewhere', 'editor');
  await ann.ok('brain_switch', { name: 'harbour-notes', create: true });
  await ann.ok('brain_write', { name: 'tides', content: '# Tides\n\nThe harbour silts up in spring.' });
  await ann.ok('brain_write', { name: 'bread', content: '# Bread\n\nFlour and water.' });
  await ann.ok('svc_create_island', { name: 'dredging', triggers: ['harbour'] });
  await ann.ok('svc_create_island', { name: 'closed', triggers: ['harbour'] });
  await ann.ok('svc_disable_island', { name: 'closed' });
  await ann.ok('brain_write', {
    name: 'skills/steer',
    content: '---\ndescription: Into the harbour at night\n---\nSlow.',
  });
  await ann.ok('brain_share', { insight: 'The harbour master answers on channel 12.', tags: ['radio'] });
  await ann.ok('brain_share', { insight: 'Bread keeps for three days.' });
});

it('finds of each kind what has to do with the query, and nothing else', async () => {
  const found = await ann.ok('brain_discover', { query: 'harbour' });
  expect(ids(found, 'agents')).toEqual(['harbour-pilot']);
  expect(ids(found, 'skills')).toEqual(['steer']);
  expect(found['insights']).toMatchObject([{ preview: 'The harbour master answers on channel 12.' }]);
  expect(ids(found, 'islands')).toEqual(['dredging']);
  expect(ids(found, 'brains')).toEqual(['harbour-notes']);
  expect(ids(found, 'files')).toContain('tides.md');
  expect(ids(found, 'files')).not.toContain('bread.md');
  expect(found).not.toHaveProperty('degraded');
});

it('shows each only what it may see', async () => {
  bed.registry.setPolicy('brain:harbour-notes/tides.md', { readableBy: ['user:somebody'], writableBy: [] });
  expect(JSON.stringify(await ann.ok('brain_discover', { query: 'silts spring' }))).not.toContain('tides');
  const seen = await nobody.ok('brain_discover', { query: 'harbour', brain: 'harbour-notes' });
  expect(seen).toMatchObject({ agents: [], insights: [] });
  bed.registry.setPolicy('brain:harbour-notes', { readableBy: ['user:ann'], writableBy: ['user:ann'] });
  expect(await nobody.ok('brain_discover', { query: 'harbour' })).toMatchObject({ brains: [] });
  bed.registry.setPolicy('brain:harbour-notes', null);
});

it('keeps to its limit, and an empty query finds nothing', async () => {
  for (let n = 0; n < 4; n += 1) await ann.ok('brain_share', { insight: `The harbour, part ${n}.` });
  expect((await ann.ok('brain_discover', { query: 'harbour', limit: 2 }))['insights']).toHaveLength(2);
  expect(await ann.ok('brain_discover', {})).toEqual({
    query: '',
    agents: [],
    skills: [],
    insights: [],
    islands: [],
    brains: [],
    files: [],
  });
  expect(await ann.no('brain_discover', { query: 'x', branch: 'gone' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
});
