/** Text that a command takes from a file or from stdin. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { UsageProblem } from './problems.ts';
import type { Surroundings } from './surroundings.ts';

/** `-` = stdin; what comes from there is text as what is in a file. Throws UsageProblem. */
export async function readSource({ cwd, stdin }: Pick<Surroundings, 'cwd' | 'stdin'>, source: string): Promise<string> {
  if (source === '-') return utf8(await buffer(stdin), 'stdin');
  try {
    return utf8(await readFile(resolve(cwd, source)), source);
  } catch (error) {
    if (error instanceof UsageProblem) throw error;
    throw new UsageProblem(`${source} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Throws UsageProblem: what is no text would be stored as something else. */
export function utf8(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageProblem(`${source} is no UTF-8 text.`);
  }
}
