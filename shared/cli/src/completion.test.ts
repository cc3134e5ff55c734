import { expect, test } from 'vitest';
import { complete } from './completion.ts';
import { SHELLS } from './completion-scripts.ts';

/** What needs no node; the scenario of the command line asks a real one. */
async function valuesFor(...words: string[]): Promise<string[]> {
  const current = words.pop() ?? '';
  const client = (): never => {
    throw new Error('nobody was to be asked');
  };
  const { candidates } = await complete({ words, current, client });
  return candidates.map(({ value }) => value);
}

test.each([
  [['sta'], ['start', 'status']],
  [['bra'], ['branch']],
  [
    ['branch', ''],
    ['list', 'create', 'switch', 'merge', 'delete'],
  ],
  [['token', 'm'], ['mint']],
  [['nonsense', ''], []],
  [['completion', ''], [...SHELLS]],
  [
    ['sync', 'pu'],
    ['push', 'pull'],
  ],
  [['sync', '--remote', 'pu'], []],
  [['commit', '--me'], ['--message']],
  [
    ['commit', '-m', 'text', '--br'],
    ['--brain', '--branch'],
  ],
  [['status', '--js'], ['--json']],
  [['start', '--url'], []],
])('svc %j', async (words, values) => {
  expect(await valuesFor(...words)).toEqual(values);
});

test('where a file fits, the shell is told', async () => {
  const client = (): never => {
    throw new Error('nobody was to be asked');
  };
  expect(await complete({ words: ['set', 'x', '-f'], current: '', client })).toEqual({ candidates: [], files: true });
});
