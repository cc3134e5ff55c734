/** The person's own editor on a text. */
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Problem } from './problems.ts';
import { utf8 } from './sources.ts';
import type { Surroundings } from './surroundings.ts';

interface Draft {
  /** Where the text is, until it is thrown away. */
  readonly path: string;
  readonly text: string;
  discard(): Promise<void>;
}

/** A draft that nobody else can read. `file` gives its name, so that the editor knows what kind of text it is. */
export async function openDraft(file: string, text: string): Promise<Draft> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-edit-'));
  await chmod(folder, 0o700);
  const name = basename(file);
  const path = join(folder, name.includes('.') ? name : `${name}.md`);
  await writeFile(path, text, { mode: 0o600 });
  return { path, text, discard: () => rm(folder, { recursive: true, force: true }) };
}

/** The text as the person left it. Throws Problem when the editor failed; the draft, as far as there is one, stays then. */
export async function edit({ env, cwd }: Pick<Surroundings, 'env' | 'cwd'>, draft: Draft): Promise<string> {
  const { path } = draft;
  const editor = [env['VISUAL'], env['EDITOR']].find((name) => name !== undefined && name !== '') ?? 'vi';
  // As git does: what is set may have arguments of its own.
  const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, path], { cwd, stdio: 'inherit', env });
  const ending = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? `code ${code}`}`));
  });
  if (ending !== null)
    throw new Problem(`The editor ${editor} failed: ${ending}.`, 'failed', [
      'Nothing was written. Set EDITOR to the editor that you want.',
      `Your text is in ${path}`,
    ]);
  const left = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (left !== null) return utf8(left, path);
  await draft.discard();
  throw new Problem(`The editor ${editor} left no file behind.`, 'failed', ['Nothing was written.']);
}
