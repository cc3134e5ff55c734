/** Prototypes that come with the service. A brain's own of the same name is taken instead. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const NAMES = ['commit-often', 'hand-over'] as const;

/** Texts by name, in order of names. */
export const BUILTIN: ReadonlyMap<string, string> = new Map(
  NAMES.map((name) => [name, readFileSync(join(import.meta.dirname, 'builtin', `${name}.md`), 'utf8')]),
);
