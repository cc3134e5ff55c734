/** Proof that nothing acknowledged was lost: by the API, on the disk, in git. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { callTool } from '../call.ts';
import { AUTHORISED } from '../system.ts';
import type { Document } from './corpus.ts';

const READERS = 16;

/** One line for each acknowledged document that is not there byte for byte. */
export async function findLosses(
  url: string,
  repository: string,
  acknowledged: ReadonlySet<string>,
  documents: readonly Document[],
): Promise<string[]> {
  const losses: string[] = [];
  const expected = new Map(documents.map((document) => [document.path, document]));
  const waiting = [...acknowledged];
  const work = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const document = expected.get(path);
      const problem =
        document === undefined ? 'is not in the corpus any more' : await lossOf(url, repository, document);
      if (problem !== null) losses.push(`${path}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: READERS }, work));
  return losses;
}

/** Null when the API and the disk have the document byte for byte. */
async function lossOf(url: string, repository: string, { path, content }: Document): Promise<string | null> {
  const bytes = Buffer.from(content);
  try {
    const shown = await callTool(url, AUTHORISED, 'svc_get_memory', { file: path });
    if (!Buffer.from(String(shown.content)).equals(bytes)) return 'is not what the API shows';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return readIfThere(join(repository, path))?.equals(bytes) === true ? null : 'is not what the disk holds';
}

function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

/** What git itself finds wrong, `` = nothing: the objects, and files that the commit does not have. */
export function gitProblems(repository: string): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    git('fsck', '--strict', '--no-dangling', '--no-progress');
    return git('status', '--porcelain');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
