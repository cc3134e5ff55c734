// What is read from the code: documents, the types of the client, who may say what on NATS.
//   generate.ts           writes them
//   generate.ts --check   fails, showing the first difference, when a committed one is out of date
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientFiles } from './client-types.ts';
import { natsConfig } from '../deploy/nats-users.ts';
import { cliPage } from './docs-cli.ts';
import { configPage, environmentExample, errorsPage, eventsPage } from './docs-contract.ts';
import { declaredTools } from './declared-tools.ts';
import { toolsPage } from './docs-tools.ts';

const root = join(import.meta.dirname, '..');

const tools = await declaredTools();

const generated: Readonly<Record<string, string>> = {
  ...clientFiles(tools),
  'docs/tools.md': toolsPage(tools),
  'docs/errors.md': errorsPage(),
  'docs/events.md': eventsPage(),
  'docs/config.md': configPage(),
  'docs/cli.md': cliPage(),
  '.env.example': environmentExample(),
  'deploy/nats/nats.conf': natsConfig(),
};

function write(): void {
  for (const [path, content] of Object.entries(generated)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

function check(): number {
  const stale = Object.entries(generated).filter(([path, content]) => committed(path) !== content);
  for (const [path, content] of stale)
    console.error(`${path} is out of date:
${firstDifference(committed(path), content)}`);
  if (stale.length === 0) return 0;
  console.error('Run `npm run gen` and commit the result.');
  return 1;
}

function committed(path: string): string {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function firstDifference(before: string, after: string): string {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const line = fresh.findIndex((text, index) => text !== old[index]);
  const at = line === -1 ? fresh.length : line;
  return `  line ${at + 1}\n  - ${old[at] ?? '(end of file)'}\n  + ${fresh[at] ?? '(end of file)'}`;
}

const [option] = process.argv.slice(2);
if (option === undefined) write();
else if (option === '--check') process.exitCode = check();
else {
  console.error('usage: generate.ts [--check]');
  process.exitCode = 2;
}
