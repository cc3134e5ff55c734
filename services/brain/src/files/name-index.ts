/** Which spelling of a name is in use, where two that fold to the same text would be one name on some file systems. */
import { foldCase } from '@svc/contract/names.ts';

/** Folded name -> the spellings in use, for files and every directory above them. */
interface NameIndex {
  add(path: string): void;
  remove(path: string): void;
  /** The name that was there before `path` and that it would be confused with, or null. */
  collision(path: string): string | null;
}

interface Spelling {
  readonly name: string;
  readonly isFile: boolean;
  uses: number;
  /** Came later and folds to the same. */
  next: Spelling | null;
}

export function createNameIndex(): NameIndex {
  const spellings = new Map<string, Spelling>();
  return {
    add(path) {
      for (const name of prefixes(path)) addSpelling(spellings, name, name === path);
    },
    remove(path) {
      for (const name of prefixes(path)) removeSpelling(spellings, name, name === path);
    },
    collision(path) {
      for (const name of prefixes(path)) {
        const first = spellings.get(foldCase(name));
        if (first !== undefined && (first.name !== name || first.isFile !== (name === path))) return first.name;
      }
      return null;
    },
  };
}

function* prefixes(path: string): Generator<string> {
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) yield path.slice(0, end);
  yield path;
}

function addSpelling(spellings: Map<string, Spelling>, name: string, isFile: boolean): void {
  const folded = foldCase(name);
  let last: Spelling | null = null;
  for (let known = spellings.get(folded) ?? null; known !== null; known = known.next) {
    if (known.name === name && known.isFile === isFile) {
      known.uses += 1;
      return;
    }
    last = known;
  }
  const added = { name, isFile, uses: 1, next: null };
  if (last === null) spellings.set(folded, added);
  else last.next = added;
}

function removeSpelling(spellings: Map<string, Spelling>, name: string, isFile: boolean): void {
  const folded = foldCase(name);
  let before: Spelling | null = null;
  for (let known = spellings.get(folded) ?? null; known !== null; known = known.next) {
    if (known.name === name && known.isFile === isFile) {
      known.uses -= 1;
      if (known.uses === 0) unlink(spellings, folded, before, known);
      return;
    }
    before = known;
  }
}

function unlink(spellings: Map<string, Spelling>, folded: string, before: Spelling | null, gone: Spelling): void {
  if (before !== null) before.next = gone.next;
  else if (gone.next !== null) spellings.set(folded, gone.next);
  else spellings.delete(folded);
}
