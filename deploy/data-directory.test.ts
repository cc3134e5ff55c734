import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { expect, test } from 'vitest';
import { shareDataDirectory, takeDataDirectory } from './data-directory.ts';
import { folder } from './testing/started-process.ts';

test('a directory that processes of a cluster share is no place for a node in one process, and the other way round', () => {
  const path = join(folder(), 'data');
  const config = { SVC_DATA_DIR: path } as Config;
  const [one, another] = [shareDataDirectory(config), shareDataDirectory(config)];
  one.release();
  expect(() => takeDataDirectory(config)).toThrow(`${path} is shared by process ${process.pid} of a cluster`);
  another.release();
  expect(readdirSync(path)).toEqual([]);

  const alone = takeDataDirectory(config);
  expect(() => shareDataDirectory(config)).toThrow(`service.lock is held by process ${process.pid}`);
  writeFileSync(join(path, 'cluster-killed.lock'), '1 of another boot');
  alone.inUse();
  alone.release();
  shareDataDirectory(config).release();
  expect(readdirSync(path)).toEqual([]);
});

test('a directory that was made for a process of a cluster goes with it when nothing was kept there', () => {
  const path = join(folder(), 'data');
  const config = { SVC_DATA_DIR: path } as Config;
  shareDataDirectory(config).release();
  expect(existsSync(path)).toBe(false);
  const shared = shareDataDirectory(config);
  writeFileSync(join(path, 'shown-hash.key'), 'kept');
  shared.release();
  expect(readdirSync(path)).toEqual(['shown-hash.key']);
});
