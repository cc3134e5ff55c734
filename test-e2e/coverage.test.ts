/** No requirement without a scenario, no acceptance example without a requirement or a reason. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declaredTools } from '../toolchain/declared-tools.ts';
import { BREAKING } from './breaking.ts';
import { ACCESS_RULES } from './instruments/access-rules.ts';
import { ACCEPTANCE_COUNTS, LATER } from './requirements/later.ts';
import { REQUIREMENTS } from './requirements.ts';
import { collectScenarios } from './verifies.ts';

const FOLDER = join(import.meta.dirname, 'scenarios');

test('every requirement is proven by a scenario, and every scenario proves a known requirement', async () => {
  const proven = await collectScenarios(async () => {
    for (const file of readdirSync(FOLDER)) {
      if (file.endsWith('.scenario.ts')) await import(join(FOLDER, file));
    }
  });
  const known = REQUIREMENTS.map(({ id }) => id);
  expect(known.filter((id) => !proven.includes(id))).toEqual([]);
  expect(proven.filter((id) => !known.includes(id))).toEqual([]);
});

test('the files that run apart are there', () => {
  const files = readdirSync(FOLDER).map((file) => `scenarios/${file}`);
  expect(BREAKING.filter((file) => !files.includes(file))).toEqual([]);
});

test('every acceptance example is a requirement now or has a reason to come later', () => {
  const examples = Object.entries(ACCEPTANCE_COUNTS).flatMap(([part, count]) =>
    Array.from({ length: count }, (_, index) => `${part} ${index + 1}`),
  );
  const sources = new Set(REQUIREMENTS.flatMap(({ source }) => source.split('; ')));
  expect(examples.filter((example) => !sources.has(example) && !(example in LATER))).toEqual([]);
  expect(
    Object.keys(LATER).filter(
      (example) => sources.has(example) || (example.includes('acceptance') && !examples.includes(example)),
    ),
  ).toEqual([]);
});

test('of each tool it is written down who is answered how', async () => {
  const tools = (await declaredTools()).flatMap((service) => service.tools.map(({ name }) => name));
  expect(tools.filter((name) => ACCESS_RULES[name] === undefined)).toEqual([]);
});
