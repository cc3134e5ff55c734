// Runs what every node has to derive or answer alike on other major versions of Node, got from the package registry: each
// has to print what this one prints. They know no types, so they are given the same sources without.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const OTHERS = ['20', '22'];
const FIXTURES = {
  worlds: 'services/universe/testing/worlds.fixture.ts',
  'search answers': 'services/brain/testing/golden-answers.fixture.ts',
};
const IMPORT = /\bfrom '([^']+)'/g;
const OURS = /^@svc\/(contract|runtime)\/(.+)$/;

/** Writes a module and all that it imports of ours, each once; `packages` gets the names of the rest, and who asks for them. */
function writeModule(path: string, folder: string, packages: Map<string, string>): void {
  const to = join(folder, path.replace(/\.ts$/, '.mjs'));
  if (existsSync(to)) return;
  const text = stripTypeScriptTypes(readFileSync(join(root, path), 'utf8'));
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(
    to,
    text.replaceAll(IMPORT, (_all, name: string) => `from '${writtenName(name, to, folder)}'`),
  );
  for (const [, name = ''] of text.matchAll(IMPORT)) {
    const source = sourceOf(name, path);
    if (source !== null) writeModule(source, folder, packages);
    else if (!name.startsWith('node:')) packages.set(name, path);
  }
}

/** Where a module of ours lies; null = it is none. */
function sourceOf(name: string, importer: string): string | null {
  if (name.startsWith('.')) return join(dirname(importer), name);
  const [, workspace, file] = OURS.exec(name) ?? [];
  return workspace === undefined || file === undefined ? null : `shared/${workspace}/src/${file}`;
}

function writtenName(name: string, importer: string, folder: string): string {
  const isOurs = OURS.test(name);
  const source = isOurs ? join(folder, sourceOf(name, importer) ?? '') : name;
  return source.replace(/\.ts$/, '.mjs');
}

/** A package as the workspace has it whose module asks for it. */
function linkPackage(name: string, importer: string, folder: string): void {
  const [, workspace = ''] = /^((?:services|shared)\/[^/]+)\//.exec(importer) ?? [];
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(join(root, workspace, 'node_modules', name), join(folder, 'node_modules', name));
}

function compare(title: string, fixture: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'same-on-nodes-'));
  try {
    const packages = new Map<string, string>();
    writeModule(fixture, folder, packages);
    for (const [name, importer] of packages) linkPackage(name, importer, folder);
    const script = join(folder, fixture.replace(/\.ts$/, '.mjs'));
    const run = (command: string, ...args: readonly string[]): string =>
      execFileSync(command, [...args, script], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, NODE_OPTIONS: '' },
      });
    const here = run(process.execPath);
    return OTHERS.map((version) => {
      const isSame = run('npx', '-y', `node@${version}`) === here;
      process.stdout.write(`node ${version}: ${isSame ? 'the same' : 'OTHER'} ${title} as ${process.version}\n`);
      return isSame;
    }).every(Boolean);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const areSame = Object.entries(FIXTURES).map(([title, fixture]) => compare(title, fixture));
if (!areSame.every(Boolean)) process.exitCode = 1;
