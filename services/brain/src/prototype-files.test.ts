import { BRAIN } from '@svc/contract/operations.brain.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../testing/bed-of-file.ts';

const bed = await bedOfFile();
const node = await bed.start();

beforeAll(async () => {
  for (const [name, content] of [
    ['agents/scout', '# Scout\nfirst'],
    ['agents/hidden', '# Hidden\nsecret'],
    ['agents/long', `# Long\n${'x'.repeat(10_000)}`],
    ['agents/deep/er', '# Deeper'],
    ['agents/data.json', '{}'],
    ['notes/scout', '# Note'],
  ] as const) {
    await node.call('brain_write', { name, content });
  }
  bed.registry.setPolicy('brain:svc/agents/hidden.md', { container: 'acme' });
});

const brain = () => createOperationClient({ bus: node.bus, clock: systemClock }, BRAIN, 'habitat');

async function ask(name?: string): Promise<Record<string, string>> {
  const { files } = await brain().prototypes(name === undefined ? {} : { name });
  return Object.fromEntries(files.map((file) => [file.name, file.content]));
}

test('Markdown directly in the category, as far as everybody may read it', async () => {
  const all = await ask();
  expect(Object.keys(all).sort()).toEqual(['long', 'scout']);
  expect(all.scout).toBe('# Scout\nfirst');
  expect(all.long).toHaveLength(4096);
  expect(JSON.stringify(all)).not.toContain('secret');
});

test('one is told whole, or not at all', async () => {
  expect((await ask('long')).long).toHaveLength(10_007);
  for (const name of ['hidden', 'ghost', 'data.json', '../notes/scout', 'deep/er', '..', '.']) {
    expect(await ask(name)).toEqual({});
  }
});

test('nobody is told anything while the registry is away', async () => {
  bed.registry.touch();
  bed.registry.isAway = true;
  try {
    await expect(brain().prototypes({})).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  } finally {
    bed.registry.isAway = false;
  }
});
