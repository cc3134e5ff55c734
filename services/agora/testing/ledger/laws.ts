/** What has to hold of ledgers whatever happens and in whatever order it becomes known. */
import { COUNTING, GATES } from './counting-laws.ts';
import { HASHES, JOINING } from './joining-laws.ts';
import type { Law } from './law.ts';

export const LAWS: readonly Law[] = [...COUNTING, ...JOINING, ...HASHES, ...GATES];
