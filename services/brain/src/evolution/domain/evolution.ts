/** A session of work on a brain: what somebody changed and learned from its beginning to its end. */
import { z } from 'zod';

/** What a session keeps of each kind; the rest is counted. */
export const EVOLUTION_LIMITS = { files: 1000, insights: 200, sessions: 1000, insightLength: 2000 } as const;

export const EvolutionSummary = z.strictObject({
  id: z.string(),
  branch: z.string(),
  by: z.string(),
  /** Milliseconds since the epoch; `endedAt` null = it goes on. */
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  /** Of files that may be told. */
  changes: z.number(),
  insights: z.number(),
  files: z.array(z.string()).readonly(),
  commits: z.array(z.string()).readonly(),
});
export type EvolutionSummary = z.output<typeof EvolutionSummary>;

/** How often a file was changed in a session. */
export interface FileChanges {
  readonly file: string;
  readonly times: number;
}

/**
 * `uncounted`: changes of files that are not kept one by one. They are told to whom no file is hidden; to everybody else
 * they might tell of what is.
 */
export function tellChanges(
  kept: readonly FileChanges[],
  uncounted: number,
  { isUnruled, mayRead }: { readonly isUnruled: boolean; mayRead(path: string): boolean },
): Pick<EvolutionSummary, 'changes' | 'files'> {
  const told = kept.filter(({ file }) => isUnruled || mayRead(file));
  const changes = told.reduce((sum, { times }) => sum + times, isUnruled ? uncounted : 0);
  return { changes, files: told.map(({ file }) => file) };
}

/** How often each of these files was changed; of new ones as many as there is room for. */
export function countChanges(
  paths: readonly string[],
  known: ReadonlySet<string>,
  kept: number,
): { readonly counted: readonly FileChanges[]; readonly added: number; readonly uncounted: number } {
  const times = new Map<string, number>();
  for (const path of paths) times.set(path, (times.get(path) ?? 0) + 1);
  const counted: FileChanges[] = [];
  let added = 0;
  for (const [file, count] of times) {
    const isNew = !known.has(file);
    if (isNew && kept + added >= EVOLUTION_LIMITS.files) continue;
    if (isNew) added += 1;
    counted.push({ file, times: count });
  }
  const all = counted.reduce((sum, one) => sum + one.times, 0);
  return { counted, added, uncounted: paths.length - all };
}
