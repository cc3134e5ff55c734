/** A commit as git stores it. */
import type { GitObject } from './object-id.ts';
import { type Identity, objectId } from './run.ts';

export interface CommitObject {
  readonly tree: string;
  readonly parents: readonly string[];
  /** The whole text, trailers included. */
  readonly text: string;
  readonly author: Identity;
  readonly authoredAt: Date;
  readonly at: Date;
}

export function commitObject(committer: Identity, commit: CommitObject): GitObject {
  const { tree, parents, author, authoredAt, at, text } = commit;
  const lines = [
    `tree ${objectId(tree)}`,
    ...parents.map((parent) => `parent ${objectId(parent)}`),
    `author ${signature(author, authoredAt)}`,
    `committer ${signature(committer, at)}`,
    '',
    // git keeps no text beyond a NUL
    text.replaceAll('\0', '\uFFFD'),
  ];
  return { type: 'commit', body: Buffer.from(lines.join('\n'), 'utf8') };
}

function signature({ name, email }: Identity, at: Date): string {
  return `${identityText(name)} <${identityText(email)}> ${gitDate(at).slice(1)}`;
}

const AROUND_NAMES = /[\s.,:;"'\\]/;

/** As git itself cleans them: without these characters inside, and without punctuation around. */
function identityText(text: string): string {
  const kept = text.replace(/[\p{Cc}<>]/gu, '');
  let [start, end] = [0, kept.length];
  while (start < end && AROUND_NAMES.test(kept.charAt(start))) start += 1;
  while (end > start && AROUND_NAMES.test(kept.charAt(end - 1))) end -= 1;
  return start === end ? 'unknown' : kept.slice(start, end);
}

const LAST_MS = 8_640_000_000_000_000;

/** The seconds that git prints, as ms since the epoch. A commit may say more than a `Date` can: that is its last moment. */
export function gitTimeMs(seconds: string): number {
  return Math.min(Number(seconds) * 1000, LAST_MS);
}

/** Git's own form of an instant, whole seconds, UTC. */
export function gitDate(at: Date): string {
  return `@${Math.floor(at.getTime() / 1000)} +0000`;
}
