import { beforeEach, expect, test } from 'vitest';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { CallError } from '@svc/contract/codes.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import { descriptionOf } from '../domain/prototype.ts';
import { growthOf, LINEAR } from '@svc/testing/growth.ts';
import { serveBrain } from '../../testing/test-brain.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const bus = createLocalBus();
let brain: Subscription | null = null;
let files: Record<string, string> = {};

/** The brain, as far as the registry knows it. */
async function startBrain(problem?: Error): Promise<void> {
  brain = await serveBrain(bus, {
    async prototypes({ name }) {
      if (problem !== undefined) throw problem;
      const found = Object.entries(files).filter(([file]) => name === undefined || file === name);
      return { files: found.map(([file, content]) => ({ name: file, content })) };
    },
  });
}

const { node } = useHabitat({ platform: { bus } });

beforeEach(async () => {
  await brain?.drain();
  brain = null;
  files = {};
});

const BUILT_IN = ['builder', 'coordinator', 'researcher', 'reviewer'];
const names = async (): Promise<unknown[]> =>
  ((await node.call('agent_proto_list')).protos as { name: string }[]).map(({ name }) => name);
const load = (name: string) => node.call('agent_proto_load', { name });

test('four are built in, whether or not a brain answers', async () => {
  expect(await names()).toEqual(BUILT_IN);
  const { content, name } = await load('reviewer');
  expect(name).toBe('reviewer');
  expect(content).toContain('# Reviewer');
  expect(await load('ghost')).toMatchObject({ code: 'E_PROTO_ABSENT' });
  await startBrain(new CallError('BRAIN_LOAD_FAIL'));
  expect(await names()).toEqual(BUILT_IN);
});

test('a bug of the brain is not taken for an empty brain', async () => {
  await startBrain(new Error('a bug'));
  await expect(names()).rejects.toThrow('INTERNAL');
});

test('files of the brain come over the built-in ones', async () => {
  files = { scout: '---\ndescription: "Looks ahead."\n---\n# Scout\nGo first.', reviewer: '# Mine\n\nReads twice.\n' };
  await startBrain();
  const { protos, count } = await node.call('agent_proto_list');
  expect(count).toBe(5);
  expect(protos).toContainEqual({ name: 'scout', description: 'Looks ahead.' });
  expect(protos).toContainEqual({ name: 'reviewer', description: 'Reads twice.' });
  expect(await load('reviewer')).toMatchObject({ content: files.reviewer });
  expect(await load('builder')).toMatchObject({ name: 'builder' });
});

test('a description is what the front matter says, else the first line of text', () => {
  expect(descriptionOf("---\nname: x\ndescription: 'it''s'\n---\n")).toBe("it''s");
  expect(descriptionOf('---\r\ndescription: plain \r\n---\r\ntext')).toBe('plain');
  expect(descriptionOf('---\ndescription:\n---\n# Head\n\n  text  ')).toBe('text');
  expect(descriptionOf('# Head\n\n  text  \nmore')).toBe('text');
  expect(descriptionOf('---\nnever closed')).toBe('---');
  expect(descriptionOf('')).toBe('');
  expect(descriptionOf(`x`.repeat(1000))).toHaveLength(200);
  expect(descriptionOf('---\ndescription: "\n---\n')).toBe('"');
});

test('a description is found in time that is linear in the file', async () => {
  const { factor } = await growthOf((size) => descriptionOf(`---\ndescription: a${' '.repeat(size)}b\n---\n`), 20_000);
  expect(factor).toBeLessThanOrEqual(LINEAR);
});
