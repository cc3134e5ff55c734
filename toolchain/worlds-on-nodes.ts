// Derives the worlds of the contract on other major versions of Node, got from the package registry: each has to print what
// this one prints. They know no types, so they are given the same sources without.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const OTHERS = ['20', '22'];
const FIXTURE = 'services/universe/testing/worlds.fixture.ts';
const DOMAIN = ['encoder', 'manifest', 'names', 'seed-chain', 'state'];
const CONTRACT = ['canonical', 'decision'];

function strip(from: string, to: string): void {
  const plain = stripTypeScriptTypes(readFileSync(join(root, from), 'utf8')).replaceAll(
    /(from '[^']+)\.ts'/g,
    "$1.mjs'",
  );
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to.replace(/\.ts$/, '.mjs'), plain);
}

function writeSources(folder: string): string {
  const domain = DOMAIN.map((name) => `services/universe/src/worlds/domain/${name}.ts`);
  for (const path of [FIXTURE, 'services/universe/src/json-depth.ts', ...domain]) strip(path, join(folder, path));
  const packages = join(folder, 'node_modules');
  for (const name of CONTRACT) strip(`shared/contract/src/${name}.ts`, join(packages, '@svc/contract', `${name}.ts`));
  symlinkSync(join(root, 'shared/contract/node_modules/zod'), join(packages, 'zod'));
  return join(folder, FIXTURE.replace(/\.ts$/, '.mjs'));
}

const folder = mkdtempSync(join(tmpdir(), 'worlds-on-nodes-'));
try {
  const script = writeSources(folder);
  const run = (command: string, ...args: readonly string[]): string =>
    execFileSync(command, [...args, script], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
  const here = run(process.execPath);
  for (const version of OTHERS) {
    const isSame = run('npx', '-y', `node@${version}`) === here;
    process.stdout.write(`node ${version}: ${isSame ? 'the same worlds' : 'OTHER WORLDS'} as ${process.version}\n`);
    if (!isSame) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
