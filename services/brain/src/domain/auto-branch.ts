/** What a branch is called that nobody has named. */

const MAX_NAME = 64;
const MAX_CATEGORIES = 3;
const MAX_CATEGORY = 12;

interface AutoBranchWish {
  readonly prefix: string;
  /** Paths of what changed. */
  readonly files: readonly string[];
  /** UTC, in the form of ISO 8601. */
  readonly at: string;
  /** Random symbols that tell two branches of one day apart. */
  readonly tail: string;
}

/** `<prefix>-<changed categories, at most 3>-<UTC date>-<tail>`, of a form that every branch name may have. */
export function autoBranchName({ prefix, files, at, tail }: AutoBranchWish): string {
  const categories = new Set(files.map((file) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : 'root')));
  const named = [...categories].map(inAscii).filter(Boolean).slice(0, MAX_CATEGORIES);
  const end = `-${at.slice(0, 10).replaceAll('-', '')}-${tail}`;
  return [prefix, ...named].join('-').slice(0, MAX_NAME - end.length) + end;
}

/** What a branch name can show of a directory's name; empty when that is nothing. */
function inAscii(category: string): string {
  const bare = category.normalize('NFKD').replace(/\p{M}+/gu, '');
  return bare
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_CATEGORY)
    .replace(/-$/, '');
}
