/** What was noted about files, which may be any text; where it is the path of a file, the rules of that file hold. */
import { z } from 'zod';
import { candidatePaths, hasExtension, isFilePath } from '@svc/contract/names.ts';

export const RESOLUTION_LIMITS = { resolutions: 1_000_000, fileLength: 200, changeLength: 4000 } as const;

export const Resolution = z.strictObject({
  id: z.string(),
  file: z.string(),
  change: z.string(),
  changedBy: z.string(),
  /** Whom the registry verified; null = nobody. */
  by: z.string().nullable(),
  branch: z.string(),
  /** Milliseconds since the epoch. */
  at: z.number(),
});
export type Resolution = Readonly<z.output<typeof Resolution>>;

/** The files that the text may mean; none when it is no path. */
export function filesMeant(text: string): readonly string[] {
  return candidatePaths(text).filter(isFilePath);
}

/** As others may have written the same file. */
export function spellingsOf(text: string): string[] {
  const stem = text.endsWith('.md') ? text.slice(0, -'.md'.length) : null;
  return [...candidatePaths(text), ...(stem === null || stem === '' || hasExtension(stem) ? [] : [stem])];
}
