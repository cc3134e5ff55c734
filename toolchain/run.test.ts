import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let root: string;

/** A project with the real run.mjs and an npx that only writes down what it was asked for and leaves the stamp. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-run-'));
  for (const folder of ['toolchain', 'deploy', 'bin', 'node_modules']) mkdirSync(join(root, folder));
  for (const file of ['run.mjs', 'pinned-node.mjs', 'install-turn.mjs'])
    cpSync(join(import.meta.dirname, file), join(root, 'toolchain', file));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ toolchain: { node: '24.0.0', pnpm: '12.0.0' } }));
  for (const entry of ['deploy/embedded.ts', 'toolchain/test.ts']) writeFileSync(join(root, entry), '');
  writeFileSync(
    join(root, 'bin', 'npx'),
    `#!${process.execPath}
     const { appendFileSync, writeFileSync } = require('node:fs');
     const command = process.argv.at(-1);
     const [kind, fingerprint] = command.split('toolchain/install.ts ')[1].split(' ');
     appendFileSync('asked', command.split(' && ')[0] + '\\n');
     Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.INSTALL_MS ?? 0));
     if (process.env.INSTALL_FAILS) process.exit(7);
     writeFileSync('node_modules/.toolchain.json', JSON.stringify({ kind, fingerprint, node: process.execPath }));`,
    { mode: 0o755 },
  );
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const START = ['deploy/embedded.ts'];
const TEST = ['toolchain/test.ts'];
const ALL = 'pnpm install --frozen-lockfile';
const PRODUCTION = `${ALL} --prod --filter-prod '@svc/deploy...'`;

const envWith = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${join(root, 'bin')}${delimiter}${process.env['PATH']}`,
  ...more,
});

function tryRun(args: readonly string[], more?: NodeJS.ProcessEnv) {
  const command = [join(root, 'toolchain', 'run.mjs'), ...args];
  const { status, stderr } = spawnSync(process.execPath, command, { env: envWith(more) });
  return { status, stderr: stderr.toString() };
}

function run(args: readonly string[]): void {
  expect(tryRun(args)).toMatchObject({ status: 0 });
}

const installs = (): string[] => readFileSync(join(root, 'asked'), 'utf8').trimEnd().split('\n');

test('what runs the service installs what running needs, the rest comes with the first tool of development', () => {
  run(START);
  run(START);
  expect(installs()).toEqual([PRODUCTION]);
  run(TEST);
  run(TEST);
  run(START);
  expect(installs()).toEqual([PRODUCTION, ALL]);
});

test('whoever ends `npm start` ends the node', async () => {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  run(START);
  const node = `process.on('SIGTERM', () => { console.log('ended'); process.exit(0); });
    setInterval(() => {}, 1000); console.log('running');`;
  writeFileSync(join(root, 'deploy', 'embedded.ts'), node);
  // As npm runs it, which tells nobody but the shell.
  const shell = spawn('sh', ['-c', scripts.start], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  shell.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString().trim()));
  await expect.poll(() => said).toEqual(['running']);
  shell.kill('SIGTERM');
  await once(shell, 'close');
  expect(said).toEqual(['running', 'ended']);
});

test('of several that start at once one installs, and whoever needs more installs it afterwards', async () => {
  const starts = [START, TEST, START, TEST, START].map((args) =>
    spawn(process.execPath, [join(root, 'toolchain', 'run.mjs'), ...args], {
      env: envWith({ INSTALL_MS: '300' }),
      stdio: 'ignore',
    }),
  );
  const ends = await Promise.all(starts.map((start) => once(start, 'close')));
  expect(ends).toEqual(starts.map(() => [0, null]));
  const [first, ...others] = installs();
  expect(others).toEqual(first === ALL ? [] : [ALL]);
});

test('an installation that failed, or that was killed, keeps nobody from the next one', () => {
  expect(tryRun(START, { INSTALL_FAILS: 'yes' })).toMatchObject({ status: 7 });
  const gone = spawnSync(process.execPath, ['--eval', '']).pid;
  writeFileSync(join(root, '.installing'), String(gone));
  run(START);
  expect(readdirSync(root).filter((name) => name.startsWith('.installing'))).toEqual([]);
});

test('a changed lockfile is installed, and what was whole stays whole', () => {
  run(START);
  writeFileSync(join(root, 'pnpm-lock.yaml'), 'changed');
  run(START);
  run(TEST);
  writeFileSync(join(root, 'pnpm-lock.yaml'), 'changed again');
  run(START);
  run(START);
  expect(installs()).toEqual([PRODUCTION, PRODUCTION, ALL, ALL]);
});
