/** What was written and what may have been taken away again, by whom and when: what must still be there follows from it. */
import { createHash } from 'node:crypto';

export type EntryKind = 'text' | 'large' | 'binary' | 'link' | 'other';

/** Bytes that somebody put under a name. */
export interface Version {
  readonly branch: string;
  readonly path: string;
  readonly by: string;
  readonly kind: EntryKind;
  /** Git blob id of the whole file; null = only part of a file is known, by its marks. */
  readonly blob: string | null;
  /** SHA-256 of the whole file. */
  readonly sha256: string | null;
  /** Words that were never written before: text with all of them holds what was written, also after a merge. */
  readonly marks: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Something that may have ended a version. */
export interface Erasure {
  /** Undefined = of whatever branch. */
  readonly branch?: string | undefined;
  /** Null = any path; with a slash at its end, all below it. */
  readonly path: string | null;
  readonly by: string;
  /** It took these bytes only. */
  readonly sha256?: string | undefined;
  /** Git judges what it takes away; only what came while it worked may have been missed. */
  readonly onlyMeanwhile?: boolean;
  /** An agent's tool changes what is served and nothing else. */
  readonly onlyText?: boolean;
  readonly from: number;
  readonly to: number;
}

/** The path itself was taken away. */
interface Removal {
  /** A commit that deletes it is right; else it is only not owed any more (set aside by git, taken back with a commit). */
  readonly deletes: boolean;
  readonly path: string | null;
  readonly from: number;
  readonly to: number;
}

export class History {
  readonly versions: Version[] = [];
  readonly erasures: Erasure[] = [];
  readonly removals: Removal[] = [];
  /** While git cleaned the tree: it takes also what came after it had looked, committed meanwhile or not. */
  readonly sweeps: { readonly from: number; readonly to: number }[] = [];

  wrote(version: Version, replaces: Partial<Erasure> = {}): void {
    this.versions.push(version);
    const { branch, path, by, from, to } = version;
    this.erasures.push({ branch, path, by, from, to, ...replaces });
  }

  erased(erasure: Erasure): void {
    this.erasures.push(erasure);
  }

  removed(removal: Removal, by: string, erasure: Partial<Erasure> = {}): void {
    const { path, from, to } = removal;
    this.removals.push(removal);
    this.erasures.push({ path, by, from, to, ...erasure });
  }

  /** Versions that nobody can have taken away. */
  standing(): Version[] {
    return this.versions.filter((version) => !this.erasures.some((erasure) => mayEnd(erasure, version)));
  }

  /** Whether anybody began to delete it before that moment. */
  mayBeDeleted(path: string, before: number): boolean {
    const isSwept = this.versions.some(
      (version) =>
        version.path === path && this.sweeps.some(({ from, to }) => version.from <= to && version.to >= from),
    );
    return isSwept || this.removals.some((one) => one.deletes && covers(one.path, path) && one.from <= before);
  }

  /** Paths of `main` that somebody made and nobody can have taken away since. */
  owedPaths(): Set<string> {
    const isOwed = ({ branch, path, from }: Version): boolean =>
      branch === 'main' && !this.removals.some((removal) => covers(removal.path, path) && removal.to >= from);
    return new Set(this.versions.filter(isOwed).map(({ path }) => path));
  }
}

function mayEnd(erasure: Erasure, version: Version): boolean {
  const isItself = erasure.from === version.from && erasure.to === version.to && erasure.by === version.by;
  if (isItself || erasure.to < version.from || !concerns(erasure, version)) return false;
  const isMeanwhile = erasure.from <= version.to;
  if (erasure.onlyMeanwhile === true && !isMeanwhile) return false;
  if (erasure.onlyText === true && version.kind !== 'text') return false;
  return isMeanwhile || takesBytes(erasure, version);
}

function concerns({ path, branch }: Erasure, version: Version): boolean {
  return covers(path, version.path) && (branch === undefined || branch === version.branch);
}

/** What is half written into a file while that is replaced goes with it, whatever it held before; so this is for later. */
function takesBytes({ sha256 }: Erasure, version: Version): boolean {
  return sha256 === undefined || version.sha256 === null || sha256 === version.sha256;
}

function covers(wanted: string | null, path: string): boolean {
  return wanted === null || wanted === path || (wanted.endsWith('/') && path.startsWith(wanted));
}

export function blobIdOf(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
}

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
