/** Mistakes as edits of our own source: a test of the rules that does not notice them tests too little. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { runs } from './counts.ts';
import { databaseAt } from './servers/postgres.ts';

export interface Edit {
  /** Below the folder of the source. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
}

/** Name and place of those that are tried: one in five for every change, all in the soak run. */
export function triedOf(mutants: readonly Pick<Mutant, 'name'>[]): (readonly [name: string, index: number])[] {
  return mutants.map(({ name }, index) => [name, index] as const).filter(([, index]) => index % 5 < runs(5));
}

/** What is imported from now on is as if somebody had written it so. Throws when there is nothing to edit. */
export function editSource(source: string, edits: readonly Edit[]): void {
  for (const { file, from } of edits) {
    if (!readFileSync(join(source, file), 'utf8').includes(from)) throw new Error(`${file} has no "${from}" any more`);
  }
  const edited = (text: string, path: string): string => {
    const mistakes = edits.filter(({ file }) => join(source, file) === path);
    return mistakes.reduce((code: string, { from, to }: Edit) => code.replaceAll(from, to), text);
  };
  registerHooks({
    load(address, context, nextLoad) {
      const loaded = nextLoad(address, context);
      if (!address.startsWith('file:') || !(loaded.source instanceof Uint8Array)) return loaded;
      return { ...loaded, source: edited(Buffer.from(loaded.source).toString(), fileURLToPath(address)) };
    },
  });
}

const UNNOTICED = 'nothing noticed';
const NOTICED = 'noticed: ';
/** Ends what hangs, a little before its test is ended: some mistakes are found late, and a busy machine takes many times as long. */
const LONGEST_RUN_MS = 280_000;

/** Of the fixture: runs the model and says what became of it. */
export async function sayWhatIsNoticed(model: () => Promise<void>): Promise<void> {
  try {
    await model();
    process.stdout.write(`${UNNOTICED}\n`);
  } catch (error) {
    process.stdout.write(`${NOTICED}${inspect(error)}\n`);
  }
}

/**
 * Runs `node <fixture> <database> <mutant, -1 = none> <seed>` on a database of its own, since what one run leaves behind
 * would be found by the next; resolves with what the fixture noticed, null = nothing. Throws when it said neither.
 */
export async function noticedOn(
  server: { readonly url: string },
  { fixture, mutant, seed }: { readonly fixture: string; readonly mutant: number; readonly seed: number },
): Promise<string | null> {
  const database = await databaseAt(server.url);
  try {
    return await noticedBy(fixture, [database.url, String(mutant), String(seed)]);
  } finally {
    await database.stop();
  }
}

/** Runs `node <fixture> <arguments…>`; resolves with what it noticed, null = nothing. Throws when it said neither. */
export async function noticedBy(fixture: string, args: readonly string[]): Promise<string | null> {
  const { stdout } = await promisify(execFile)(process.execPath, [fixture, ...args], { timeout: LONGEST_RUN_MS });
  if (stdout !== `${UNNOTICED}\n` && !stdout.startsWith(NOTICED)) throw new Error(`the fixture said ${stdout}`);
  return stdout.startsWith(NOTICED) ? stdout.slice(NOTICED.length) : null;
}
