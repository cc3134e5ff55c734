/** What a vote of the forum is called, and the record of it in the ledger of money. */

const MAX_SLUG = 48;
export const VOTE_PREFIX = 'forum-';

/** `random`: 32 hex digits. */
export function voteName(proposal: string, random: string): string {
  const words =
    proposal
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const slug = words.join('-').slice(0, MAX_SLUG).replace(/-$/, '');
  return `${VOTE_PREFIX}${slug === '' ? 'vote' : slug}-${random}`;
}

export function holdOf(topic: string): string {
  return `forum:${topic}`;
}

const LIFE_AFTER_MS = 3_600_000;

export function lifeOf(deadline: number, now: number): number {
  return Math.max(1, Math.round(deadline - now + LIFE_AFTER_MS));
}

/** Why a vote was not opened or cast, in a word. */
export function reasonOf(code: string): string {
  return code.toLowerCase().replace(/^e_/, '');
}
