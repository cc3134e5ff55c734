/** Text that a command takes from a file or from stdin. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { UsageProblem } from './problems.ts';
import type { Surroundings } from './surroundings.ts';

/** `-` = stdin; what comes from there is text as what is in a file. `signal` ends the wait for it. Throws UsageProblem. */
export async function readSource(
  { cwd, stdin }: Pick<Surroundings, 'cwd' | 'stdin'>,
  source: string,
  signal: AbortSignal,
): Promise<string> {
  const name = source === '-' ? 'stdin' : source;
  let bytes: Uint8Array;
  try {
    bytes = source === '-' ? await buffer(addAbortSignal(signal, stdin)) : await readFile(resolve(cwd, source));
  } catch (error) {
    throw new UsageProblem(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return utf8(bytes, name);
}

/** Throws UsageProblem: what is no text would be stored as something else. */
export function utf8(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageProblem(`${source} is no UTF-8 text.`);
  }
}
