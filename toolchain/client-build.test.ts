/** The client for those who do not run TypeScript: JavaScript of Node 20 and of browsers comes of it. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type * as Calls from '../shared/client/src/client.ts';
import type * as Events from '../shared/client/src/events.ts';
import { result, startScriptedNode } from '../shared/client/testing/scripted-node.ts';

const CLIENT = join(import.meta.dirname, '..', 'shared', 'client');

/** Beside the client, so that it finds what the client depends on. */
function buildClient(): string {
  const builds = join(CLIENT, 'node_modules', '.builds');
  mkdirSync(builds, { recursive: true });
  const folder = mkdtempSync(join(builds, 'build-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('tsc', ['-p', join(CLIENT, 'tsconfig.build.json'), '--outDir', folder], { stdio: 'inherit' });
  return folder;
}

test('the built client needs nothing of Node, and calls', async () => {
  const folder = buildClient();
  const sources = globSync('**/*.js', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'));
  const imported = sources.flatMap((text) => [...text.matchAll(/from '([^']+)'/g)].map(([, name = '']) => name));
  expect(new Set(imported.filter((name) => !name.startsWith('./') && !name.startsWith('../')))).toEqual(
    new Set(['socket.io-client']),
  );
  expect(imported.filter((name) => name.endsWith('.ts'))).toEqual([]);
  expect(globSync('**/*.d.ts', { cwd: folder })).toContain('client.d.ts');
  await using node = await startScriptedNode([result({ status: 'ok' })]);
  const built = (await import(join(folder, 'client.js'))) as typeof Calls;
  expect(await built.createClient({ url: node.url }).call('svc_health')).toEqual({ status: 'ok' });
  const { listen } = (await import(join(folder, 'events.js'))) as typeof Events;
  const listening = listen({ url: node.url, onEvent: () => {} });
  listening.close();
  await listening.ended;
});
