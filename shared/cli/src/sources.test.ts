import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { UsageProblem } from './problems.ts';
import { readSource } from './sources.ts';
import type { Surroundings } from './surroundings.ts';

const piped = (...bytes: number[]): Promise<string> => {
  const stdin = Readable.from([Buffer.from(bytes)]) as unknown as Surroundings['stdin'];
  return readSource({ cwd: '/', stdin }, '-', new AbortController().signal);
};

it('takes text from stdin as it is, with the mark that it may begin with', async () => {
  expect(await piped(0xef, 0xbb, 0xbf, 0xc3, 0xbc, 0x0a)).toBe('\uFEFFü\n');
  expect(await piped()).toBe('');
});

it('refuses what is no text, rather than to store something else', async () => {
  await expect(piped(0x47, 0x72, 0xfc, 0xdf, 0x65)).rejects.toThrow(UsageProblem);
});
