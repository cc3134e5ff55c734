/** What an image has compiled while it was built. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROLES } from './services.ts';
import { folder, start } from './testing/started-process.ts';

const NOWHERE = {
  NATS_URL: 'nats://127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:1',
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  SVC_START_WAIT_MS: '0',
  SVC_LOG_LEVEL: 'silent',
};
/** Its entry and that of the thread that watches it. */
const FILES_LEFT = 2;
/** Of each file: the text without types, and the code. */
const KEPT_OF_EACH = 2;
/** What a process that ended was still writing, under the name that it was to have and a few letters more. */
const HALF_WRITTEN = /\.[A-Za-z0-9]{6}$/;

test('a process of any role finds all compiled but what it begins with', async () => {
  const cache = folder();
  const compiled = (): string[] =>
    readdirSync(cache, { recursive: true, encoding: 'utf8' }).filter((path) => !HALF_WRITTEN.test(path));
  const warmed = await start(['warm-up.ts'], { NODE_COMPILE_CACHE: cache }).ended;
  expect([warmed.code, warmed.stderr]).toEqual([0, '']);
  const before = compiled();
  for (const role of ROLES) {
    const environment = { ...NOWHERE, SVC_DATA_DIR: folder(), NODE_COMPILE_CACHE: cache };
    expect((await start(['node.ts', role], environment).ended).code, role).toBe(1);
  }
  expect(before.length).toBeGreaterThan(1000);
  const added = compiled().filter((path) => !before.includes(path));
  expect(added.length, added.join(', ')).toBeLessThanOrEqual(FILES_LEFT * KEPT_OF_EACH);
});
