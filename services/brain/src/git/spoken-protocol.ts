/**
 * Whether what answered at an https address was git. A page in a single line, such as the form of a network that wants a
 * sign-in, reads to git like a repository without branches.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What git notes once the other side has told which version of the protocol it speaks. */
const SPOKEN = '"negotiated-version"';

interface Asked<Value> {
  readonly value: Value;
  /** True also when there was no place to note it. */
  readonly isGit: boolean;
}

/** Runs `ask` with the variables under which git notes what it does. */
export async function askGit<Value>(
  ask: (environment: Readonly<Record<string, string>>) => Promise<Value>,
): Promise<Asked<Value>> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-protocol-')).catch(() => null);
  if (folder === null) return { value: await ask({}), isGit: true };
  const notes = join(folder, 'notes');
  try {
    const value = await ask({ GIT_TRACE2_EVENT: notes });
    const noted = await readFile(notes, 'utf8').catch(() => '');
    return { value, isGit: noted === '' || noted.includes(SPOKEN) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
