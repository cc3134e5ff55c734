/** What the services declare, held against the lists that name services by hand. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Operations } from '@svc/contract/operation.ts';
import { BUILT_IN_PROFILES } from '@svc/contract/settings.ts';
import { describeTools } from '@svc/testing/tools.contract.ts';
import { LAYERS } from '@svc/universe/boot/domain/layer.ts';
import { expect, test } from 'vitest';
import { declaredTools } from '../toolchain/declared-tools.ts';
import { ROLES, SERVICE_NAMES } from './services.ts';

for (const { service, tools } of await declaredTools()) describeTools(service, tools);

test('each service has a profile with its tools and a layer of its own', () => {
  expect(BUILT_IN_PROFILES).toEqual(expect.arrayContaining([...ROLES]));
  expect(LAYERS).toEqual(expect.arrayContaining([...SERVICE_NAMES]));
});

const CONTRACT = join(import.meta.dirname, '..', 'shared', 'contract', 'src');
const isOperations = (value: unknown): value is Operations =>
  typeof value === 'object' && value !== null && 'declared' in value && 'service' in value;

test('who serves an operation and who may ask for it are services', async () => {
  const files = readdirSync(CONTRACT).filter((file) => /^operations\..*\.ts$/.test(file));
  const modules = await Promise.all(files.map((file) => import(join(CONTRACT, file)) as Promise<object>));
  const named = modules
    .flatMap((exported): unknown[] => Object.values(exported))
    .filter(isOperations)
    .flatMap(({ service, declared }) => [service, ...Object.values(declared).flatMap(({ askers = [] }) => askers)]);
  expect(named.filter((name) => !ROLES.includes(name))).toEqual([]);
  expect([...new Set(named)].sort()).toEqual([...ROLES].sort());
});
