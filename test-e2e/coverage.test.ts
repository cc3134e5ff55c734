/** No requirement without a scenario, no acceptance example without a requirement or a reason. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declaredTools } from '../toolchain/declared-tools.ts';
import { ACCESS_RULES } from './instruments/access-rules.ts';
import { APART, BREAKING } from './lanes.ts';
import { ACCEPTANCE_COUNTS, LATER } from './requirements/later.ts';
import { REQUIREMENTS } from './requirements.ts';
import { collectScenarios } from './verifies.ts';

const FOLDER = join(import.meta.dirname, 'scenarios');

/** Each file with what it was found to have; one after the other, because what is found is the one file's that is read. */
async function collectAll() {
  const found = [];
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.scenario.ts'))) {
    found.push({ file: `scenarios/${name}`, ...(await collectScenarios(() => import(join(FOLDER, name)))) });
  }
  return found;
}

const collected = await collectAll();

test('every requirement is proven by a scenario, and every scenario proves a known requirement', () => {
  const proven = collected.flatMap(({ requirements }) => requirements);
  const known = REQUIREMENTS.map(({ id }) => id);
  expect(known.filter((id) => !proven.includes(id))).toEqual([]);
  expect(proven.filter((id) => !known.includes(id))).toEqual([]);
});

test('the files with a cluster of their own are those that run apart', () => {
  const own = collected.filter(({ hasOwnCluster }) => hasOwnCluster).map(({ file }) => file);
  expect([...BREAKING, ...APART].toSorted()).toEqual(own.toSorted());
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
