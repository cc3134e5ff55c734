/**
 * The processes of a run load their code from one file for each entry, made when the run begins: a start costs half of
 * what it costs from two thousand modules, and starts are most of what the scenarios cost. Scripts of threads and child
 * processes, texts and migrations stay where they are. Processes that the suites start beside the scenarios run from source.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

const PROJECT = join(import.meta.dirname, '..', '..');
/** One place for all runs, so that what Node compiled for one serves the next. */
const FOLDER = join(PROJECT, 'node_modules', '.bundle');
const MANIFEST = 'package.json';
const KEPT_MS = 86_400_000;
/** For the workers of a run, which inherit it: where the entries are. */
const BUNDLED = 'E2E_BUNDLE';

/** A module of ours goes on naming the files beside its source. */
const WHERE_IT_WAS: Plugin = {
  name: 'where it was',
  transform: {
    filter: { code: 'import.meta' },
    handler(code, id) {
      if (!id.startsWith(PROJECT) || id.includes('node_modules')) return null;
      return code
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href));
    },
  },
};

/** `entries`: paths below the project. */
export async function bundle(entries: readonly string[]): Promise<void> {
  const input = Object.fromEntries(entries.map((entry) => [nameOf(entry), join(PROJECT, entry)]));
  await using made = await rolldown({
    input,
    cwd: PROJECT,
    platform: 'node',
    plugins: [WHERE_IT_WAS],
    logLevel: 'warn',
  });
  const { output } = await made.generate({ format: 'esm', entryFileNames: '[name].js' });
  mkdirSync(FOLDER, { recursive: true });
  place(MANIFEST, '{"type":"module"}');
  for (const part of output) place(part.fileName, part.type === 'chunk' ? part.code : part.source);
  removeOthers(new Set([MANIFEST, ...output.map(({ fileName }) => fileName)]));
  process.env[BUNDLED] = FOLDER;
}

/** What a process runs for this entry: that of the run, or the source where nothing was made for it. */
export function scriptOf(entry: string): string {
  const folder = process.env[BUNDLED];
  return folder === undefined ? join(PROJECT, entry) : join(folder, `${nameOf(entry)}.js`);
}

function nameOf(entry: string): string {
  return basename(entry, '.ts');
}

/** At once, and only where it is another one: processes of another run may be reading it. */
function place(fileName: string, content: string | Uint8Array): void {
  const path = join(FOLDER, fileName);
  if (contentOf(path)?.equals(Buffer.from(content)) === true) return;
  const written = `${path}.${process.pid}`;
  writeFileSync(written, content);
  renameSync(written, path);
}

/** Parts have their content in their names, so those of earlier code stay; a run that still reads them is younger than this. */
function removeOthers(current: ReadonlySet<string>): void {
  for (const name of readdirSync(FOLDER)) {
    const path = join(FOLDER, name);
    if (!current.has(name) && Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { force: true });
  }
}

function contentOf(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
