/** The judgement of a batch: each call sees the effect of those before it; nothing touches the disk here. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';
import { decideWrite } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { blockedPath, checkedPath, confusedPath } from '../blocked-path.ts';
import type { FileChange } from '../files/durable-write.ts';
import { obstacleAt } from '../files/obstacle.ts';
import { createNameIndex } from '../files/name-index.ts';
import { decodeText, type FileEntry } from '../files/file-entry.ts';
import type { Worktree } from '../files/worktree.ts';
import { type BrainSize, decideGrowth, resized } from '../domain/brain-size.ts';
import { homeOfMaker } from '../domain/home.ts';
import { couldMeetHidden } from '../domain/unseen-names.ts';
import type { RowView } from '../ports.ts';
import type { OpContext } from './context.ts';
import { isLarge, isWritten, notChanged } from './unserved.ts';

export interface FileRequest {
  /** As the caller named it; the extension rule has not been applied yet. */
  readonly path: string;
  /** Null removes the file. */
  readonly content: Uint8Array | null;
  /** Hash the file must have now, `none` = it must not exist, null = whatever it is. */
  readonly ifMatch: string | null;
  /** The row rules as they apply to the caller. */
  readonly rows: RowView;
  /** The caller deals in bytes: it may bring what is no text, and replace it. */
  readonly isOfBytes?: boolean;
  /** The path is the name of the file, without the extension rule. */
  readonly isExact?: boolean;
}

/** As it is shown to the caller. */
export const FileOutcome = z.strictObject({
  file: z.string(),
  /** Of the bytes now in place, or, of a removed file, of what went. */
  hash: z.string(),
  bytes: z.number(),
  changed: z.boolean(),
  created: z.boolean(),
});
export type FileOutcome = Readonly<z.output<typeof FileOutcome>>;

interface StagedChange {
  readonly path: string;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Null of a removed file, and of one with hidden fields. */
  readonly hash: string | null;
  readonly by: string;
  /** Of the caller. */
  readonly session: string;
  /** Where what this caller makes is at home; null = where the brain is. */
  readonly home: string | null;
}

/** What came by an editor or a pull is kept all the same. */
const INDEX_FULL =
  'The search index of this branch has no room for more text: make files smaller, remove some, or let the node take more memory (SVC_SEARCH_MEMORY_MIB).';

type RemovalDenial = 'E_CONFLICT' | 'E_FILE_ABSENT';

/** Whose change it is. */
type Doer = Pick<OpContext, 'actor' | 'subject' | 'session'>;

interface State {
  readonly content: Uint8Array | null;
  readonly hash: string | null;
}

interface StagedState extends State {
  /** What the first of the batch that changes the path was judged on, which the table may not hold any more; null = nothing. */
  readonly before: FileEntry | null;
}

export class Staging {
  readonly #tree: Worktree;
  readonly #states = new Map<string, StagedState>();
  readonly #newNames = createNameIndex();
  /** By the batch to what the tree holds. */
  #added: BrainSize = { files: 0, bytes: 0 };
  /** What each successful call changed, in order. */
  readonly events: StagedChange[] = [];

  constructor(tree: Worktree) {
    this.#tree = tree;
  }

  /** Throws VAF_PATH_BLOCKED, RLS_DENIED, E_ISLAND_WRITE_DENIED, VAF_INPUT_INVALID. */
  judge(
    request: FileRequest & { readonly content: Uint8Array },
    doer: Doer,
  ): Decision<FileOutcome, 'E_CONFLICT' | 'E_QUOTA'>;
  judge(request: FileRequest & { readonly content: null }, doer: Doer): Decision<FileOutcome, RemovalDenial>;
  judge(request: FileRequest, doer: Doer): Decision<FileOutcome, RemovalDenial | 'E_QUOTA'>;
  judge(request: FileRequest, { actor: by, subject, session }: Doer): Decision<FileOutcome, RemovalDenial | 'E_QUOTA'> {
    const { rows, content } = request;
    const path = request.isExact === true ? checkedPath(request.path) : this.#resolve(request.path, rows);
    const home = homeOfMaker(subject);
    const denial = rows.writeDenial(path, this.#hashNow(path) === null ? home : null);
    if (denial !== null) throw new CallError(denial);
    const obstacle = this.#unserved(path, request);
    if (obstacle !== null) return deny('E_CONFLICT', { file: path, hash: null }, obstacle);
    const present = this.#hashNow(path);
    const decision =
      content === null
        ? this.#judgeRemoval(path, present, request)
        : this.#judgeWrite(path, present, { ...request, content });
    if (!decision.ok) return decision;
    const { changed, hash: now } = decision.value;
    if (changed) {
      const change = content === null ? 'deleted' : present === null ? 'created' : 'updated';
      this.events.push({
        path,
        change,
        hash: content === null || rows.hides(path) ? null : now,
        by,
        session,
        home,
      });
    }
    return allow(this.#shown(path, present, decision.value, rows));
  }

  /** Who changed the path last in this batch. */
  lastActor(path: string): string {
    return this.events.findLast((event) => event.path === path)?.by ?? '';
  }

  /** What the disk must be made to hold, in the place of what was judged; files that ended as they were are left out. */
  changes(): FileChange[] {
    const changes: FileChange[] = [];
    for (const [path, { content, hash: wanted, before }] of this.#states) {
      if ((before?.hash ?? null) === wanted) continue;
      changes.push({ path, content, expects: before?.stat ?? null, isExecutable: before?.mode === '100755' });
    }
    return changes;
  }

  #judgeWrite(
    path: string,
    present: string | null,
    { content: given, ifMatch, rows }: FileRequest & { readonly content: Uint8Array },
  ): Decision<Judged, 'E_CONFLICT' | 'E_QUOTA'> {
    const content = rows.hides(path) ? this.#withHidden(path, given, rows) : given;
    const wanted = hash('sha256', content, 'hex');
    const isExpected = matches(ifMatch, this.#shownHash(path, present, rows));
    // A repeated write whose first reply was lost has the old ifMatch, and is still what the caller wanted. Of hidden
    // values that it brings itself, that answer would tell whether they are the present ones.
    const isRepeated = present === wanted && (isExpected || !bringsHidden(path, given, rows));
    if (isRepeated) return allow({ hash: wanted, bytes: content.byteLength, changed: false });
    if (!isExpected) return deny('E_CONFLICT', { file: path, hash: this.#shownHash(path, present, rows) });
    if (present === null) this.#checkNewName(path, rows);
    const denied = this.#judgeSize(path, content.byteLength);
    if (denied !== null) return denied;
    if (present === null) this.#newNames.add(path);
    this.#stage(path, { content, hash: wanted });
    return allow({ hash: wanted, bytes: content.byteLength, changed: true });
  }

  #judgeSize(path: string, bytes: number): Denial<'E_QUOTA'> | null {
    const { table, index } = this.#tree;
    const held = { files: table.size + this.#added.files, bytes: table.totalBytes + this.#added.bytes };
    const growth = decideGrowth(held, this.#bytesNow(path), bytes);
    if (bytes > MAX_CONTENT_BYTES || !growth.ok) return deny('E_QUOTA');
    return index.leftOut > 0 && bytes > (table.get(path)?.bytes ?? 0) ? deny('E_QUOTA', undefined, INDEX_FULL) : null;
  }

  #judgeRemoval(path: string, present: string | null, { ifMatch, rows }: FileRequest): Decision<Judged, RemovalDenial> {
    if (present === null || !rows.mayRead(path)) return deny('E_FILE_ABSENT', { file: path });
    const shown = this.#shownHash(path, present, rows);
    if (!matches(ifMatch, shown)) return deny('E_CONFLICT', { file: path, hash: shown });
    this.#stage(path, { content: null, hash: null });
    return allow({ hash: present, bytes: 0, changed: true });
  }

  #stage(path: string, state: State): void {
    this.#added = resized(this.#added, this.#bytesNow(path), state.content?.byteLength ?? null);
    const staged = this.#states.get(path);
    const before = staged === undefined ? (this.#tree.table.get(path) ?? null) : staged.before;
    this.#states.set(path, { ...state, before });
  }

  /** Null of what is absent. */
  #bytesNow(path: string): number | null {
    const staged = this.#states.get(path);
    if (staged !== undefined) return staged.content?.byteLength ?? null;
    return this.#tree.table.get(path)?.bytes ?? null;
  }

  /** The bytes to be written: hidden values stay where the caller, who does not see them, left them out. */
  #withHidden(path: string, given: Uint8Array, rows: RowView): Uint8Array {
    const text = decodeText(given);
    const merged = text === null ? null : rows.merged(path, this.#textNow(path), text);
    if (merged === null) {
      throw invalidArguments([{ path: 'content', message: 'must keep the form of a file that has hidden fields' }]);
    }
    return Buffer.from(merged, 'utf8');
  }

  #textNow(path: string): string | null {
    const staged = this.#states.get(path);
    if (staged === undefined) return this.#tree.read(path)?.text ?? null;
    return staged.content === null ? null : decodeText(staged.content);
  }

  /** Null of what is absent, or may not be seen. */
  #shownHash(path: string, present: string | null, rows: RowView): string | null {
    return present === null || !rows.mayRead(path) ? null : rows.shownHash(this.#tree.branch, path, present);
  }

  /** Who may write but not read learns nothing about what was there. */
  #shown(path: string, present: string | null, { hash: now, bytes, changed }: Judged, rows: RowView): FileOutcome {
    const text = rows.hides(path) && bytes > 0 ? this.#textNow(path) : null;
    const shown = {
      file: path,
      hash: rows.shownHash(this.#tree.branch, path, now),
      bytes: text === null ? bytes : Buffer.byteLength(rows.shown(path, text) ?? ''),
    };
    if (!rows.mayRead(path)) return { ...shown, changed: true, created: true };
    return { ...shown, changed, created: changed && present === null };
  }

  /** The file that the path means: an existing candidate that may be seen, else the name that a new file gets. */
  #resolve(path: string, rows: RowView): string {
    const isThere = (candidate: string): boolean => rows.mayRead(candidate) && this.#hashNow(candidate) !== null;
    return checkedPath(decideWrite(checkedPath(path), isThere));
  }

  #hashNow(path: string): string | null {
    const staged = this.#states.get(path);
    return staged === undefined ? (this.#tree.refresh(path)?.hash ?? null) : staged.hash;
  }

  /** Why nothing is written over what lies there: its bytes are a person's, and not served. Null when nothing lies there. */
  #unserved(path: string, { rows, isOfBytes, content }: FileRequest): string | null {
    if (this.#states.has(path)) return null;
    const entry = this.#tree.refresh(path);
    if (entry === null) return content === null ? this.#removedByPerson(path, rows) : this.#keptInCommit(path, rows);
    if (isWritten(entry, isOfBytes === true)) {
      const other = this.#tree.table.collision(path);
      if (other !== null) throw this.#isSeen(other, rows) ? confusedPath(path, other) : new CallError('RLS_DENIED');
      return null;
    }
    if (isOfBytes === true && content === null && this.#isLargeAndCommitted(entry)) return null;
    return notChanged(rows.mayRead(path) ? entry : { path }, content === null);
  }

  /** Removed, its bytes are still in the history. */
  #isLargeAndCommitted(entry: FileEntry): boolean {
    return isLarge(entry) && entry.blob !== '' && this.#tree.table.headOf(entry.onDisk)?.oid === entry.blob;
  }

  /** As `#unserved`, where it lies in the last commit and not in the working tree. */
  #keptInCommit(path: string, rows: RowView): string | null {
    const kept = this.#tree.table.keptAt(this.#tree.onDisk(path));
    if (kept === null) return null;
    if (!rows.mayRead(kept.file)) throw new CallError('RLS_DENIED');
    return `What the last commit has at ${kept.file} ${kept.problem}; a tool never writes over it.`;
  }

  /** As `#keptInCommit`, of that very path: what is only above or below it is not what is to be removed. */
  #removedByPerson(path: string, rows: RowView): string | null {
    const kept = rows.mayRead(path) ? this.#tree.table.keptAt(this.#tree.onDisk(path)) : null;
    if (kept?.file !== path) return null;
    return `What the last commit has at ${path} ${kept.problem}; only a person removes it, with git.`;
  }

  /** Whether the name in use, of a file or of a directory, is one that the caller may know of. */
  #isSeen(name: string, rows: RowView): boolean {
    if (rows.isUnruled) return true;
    const isMeant = (path: string): boolean => path === name || path.startsWith(`${name}/`);
    const paths = [...Array.from(this.#tree.table.entries(), ({ path }) => path), ...this.#states.keys()];
    return paths.some((path) => isMeant(path) && rows.mayRead(path));
  }

  #checkNewName(path: string, rows: RowView): void {
    const other = this.#tree.table.collision(path) ?? this.#newNames.collision(path);
    if (other !== null && this.#isSeen(other, rows)) throw confusedPath(path, other);
    // Denied whether or not the name is taken by what may not be seen.
    if (other !== null || couldMeetHidden(path, rows.unreadable())) throw new CallError('RLS_DENIED');
    if (this.#tree.isIgnored(path)) throw blockedPath('is one that the ignore files of the brain leave out of it');
    const obstacle = obstacleAt(this.#tree.root, this.#tree.onDisk(path));
    if (obstacle !== null) throw blockedPath(obstacle);
  }
}

/** What one call makes of a file, as it lies on disk. */
type Judged = Pick<FileOutcome, 'hash' | 'bytes' | 'changed'>;

function bringsHidden(path: string, given: Uint8Array, rows: RowView): boolean {
  if (!rows.hides(path)) return false;
  const text = decodeText(given) ?? '';
  return rows.shown(path, text) !== text;
}

function matches(ifMatch: string | null, present: string | null): boolean {
  return ifMatch === null || (ifMatch === 'none' ? present === null : ifMatch === present);
}
