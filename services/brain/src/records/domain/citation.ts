/** What was noted about commits, and which of it a short name means. */
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

export const CITATION_LIMITS = { citations: 100_000, contextLength: 1000 } as const;

export const Citation = z.strictObject({
  id: z.string(),
  /** The id of a commit, or, when it is not verified, whatever somebody wrote. */
  commit: z.string(),
  context: z.string(),
  verified: z.boolean(),
  by: z.string(),
  /** Milliseconds since the epoch. */
  at: z.number(),
});
export type Citation = Readonly<z.output<typeof Citation>>;

const WHOLE_ID = /^[0-9a-f]{40}$/;
const PART_OF_ID = /^[0-9a-f]{4,40}$/;

/** Among what citations name: ids as they are, beginnings of ids, beginnings of what is no id. */
export interface CitedWish {
  readonly ids: readonly string[];
  /** Null = no id is looked for by its beginning. */
  readonly idPrefix: string | null;
  readonly text: string;
}

/** `readings`: what of git's own ids the asker's digits may mean. */
export function citedWish(text: string, readings: (hex: string) => readonly string[]): CitedWish {
  const hex = text.toLowerCase();
  const meant = PART_OF_ID.test(hex) ? readings(hex) : [];
  return {
    ids: meant.filter((id) => WHOLE_ID.test(id)),
    idPrefix: meant.find((id) => !WHOLE_ID.test(id)) ?? null,
    text,
  };
}

/** `latest`: the last citation of each commit that the text may mean. One that is named exactly comes before others. */
export function decideCited(latest: readonly Citation[], text: string): Decision<Citation | null, 'E_REF_AMBIGUOUS'> {
  const exact = latest.find(({ commit, verified }) => !verified && commit === text);
  const [first = null, ...others] = exact === undefined ? latest : [exact];
  return others.length === 0 ? allow(first) : deny('E_REF_AMBIGUOUS');
}

const SHOWN_LENGTH = 7;

/** As it stands in a text that quotes it. */
export function quoted({ commit, context }: Pick<Citation, 'commit' | 'context'>): string {
  return `[Source: ${commit.slice(0, SHOWN_LENGTH)}] ${context}`.trimEnd();
}
