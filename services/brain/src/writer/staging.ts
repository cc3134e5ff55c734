/** The judgement of a batch: each call sees the effect of those before it; nothing touches the disk here. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { candidatePaths, filePathProblem } from '@svc/contract/names.ts';
import { type FileChange, obstacleAt } from '../files/durable-write.ts';
import { createNameIndex } from '../files/file-table.ts';
import type { Worktree } from '../files/worktree.ts';

export interface FileRequest {
  /** As the caller named it; the extension rule has not been applied yet. */
  readonly path: string;
  /** Null removes the file. */
  readonly content: Uint8Array | null;
  /** Hash the file must have now, `none` = it must not exist, null = whatever it is. */
  readonly ifMatch: string | null;
}

export interface FileOutcome {
  readonly file: string;
  /** Of the bytes now in place, or, of a removed file, of what went. */
  readonly hash: string;
  readonly bytes: number;
  readonly changed: boolean;
  readonly created: boolean;
}

export interface StagedChange {
  readonly path: string;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly hash: string | null;
  readonly by: string;
}

export const BRAIN_LIMITS = { files: 100_000, bytes: 2 * 1024 ** 3 } as const;

interface State {
  readonly content: Uint8Array | null;
  readonly hash: string | null;
}

export class Staging {
  readonly #tree: Worktree;
  readonly #states = new Map<string, State>();
  readonly #newNames = createNameIndex();
  /** What each successful call changed, in order. */
  readonly events: StagedChange[] = [];

  constructor(tree: Worktree) {
    this.#tree = tree;
  }

  /** `by` = actor of the change. Throws VAF_PATH_BLOCKED. */
  judge(request: FileRequest, by: string): Decision<FileOutcome, 'E_CONFLICT' | 'E_FILE_ABSENT' | 'E_QUOTA'> {
    const path = this.#resolve(request.path);
    const present = this.#hashNow(path);
    const decision =
      request.content === null
        ? this.#judgeRemoval(path, present, request.ifMatch)
        : this.#judgeWrite(path, present, request.content, request.ifMatch);
    if (decision.ok && decision.value.changed) {
      const change = request.content === null ? 'deleted' : present === null ? 'created' : 'updated';
      this.events.push({ path, change, hash: request.content === null ? null : decision.value.hash, by });
    }
    return decision;
  }

  /** Who changed the path last in this batch. */
  lastActor(path: string): string {
    return this.events.findLast((event) => event.path === path)?.by ?? '';
  }

  /** What the disk must be made to hold; files that ended as they were are left out. */
  changes(): FileChange[] {
    const changes: FileChange[] = [];
    for (const [path, { content, hash: wanted }] of this.#states) {
      if ((this.#tree.table.get(path)?.hash ?? null) !== wanted) changes.push({ path, content });
    }
    return changes;
  }

  #judgeWrite(
    path: string,
    present: string | null,
    content: Uint8Array,
    ifMatch: string | null,
  ): Decision<FileOutcome, 'E_CONFLICT' | 'E_QUOTA'> {
    const wanted = hash('sha256', content, 'hex');
    const outcome = { file: path, hash: wanted, bytes: content.byteLength };
    // A repeated write whose first reply was lost has the old ifMatch, and is still what the caller wanted.
    if (present === wanted) return allow({ ...outcome, changed: false, created: false });
    if (!matches(ifMatch, present)) return deny('E_CONFLICT', { file: path, hash: present });
    if (present === null) {
      this.#checkNewName(path);
      if (this.#tree.table.size + this.#states.size >= BRAIN_LIMITS.files) return deny('E_QUOTA');
      this.#newNames.add(path);
    }
    if (this.#tree.table.totalBytes + content.byteLength > BRAIN_LIMITS.bytes) return deny('E_QUOTA');
    this.#states.set(path, { content, hash: wanted });
    return allow({ ...outcome, changed: true, created: present === null });
  }

  #judgeRemoval(
    path: string,
    present: string | null,
    ifMatch: string | null,
  ): Decision<FileOutcome, 'E_CONFLICT' | 'E_FILE_ABSENT'> {
    if (present === null) return deny('E_FILE_ABSENT', { file: path });
    if (!matches(ifMatch, present)) return deny('E_CONFLICT', { file: path, hash: present });
    this.#states.set(path, { content: null, hash: null });
    return allow({ file: path, hash: present, bytes: 0, changed: true, created: false });
  }

  /** The file that the path means: an existing candidate, else the name that a new file gets. */
  #resolve(path: string): string {
    const problem = filePathProblem(path);
    if (problem !== null) throw blockedPath(problem);
    const candidates = candidatePaths(path);
    const target = candidates.find((candidate) => this.#hashNow(candidate) !== null) ?? candidates.at(-1) ?? path;
    const targetProblem = filePathProblem(target);
    if (targetProblem !== null) throw blockedPath(targetProblem);
    return target;
  }

  #hashNow(path: string): string | null {
    const staged = this.#states.get(path);
    return staged === undefined ? (this.#tree.refresh(path)?.hash ?? null) : staged.hash;
  }

  #checkNewName(path: string): void {
    const other = this.#tree.table.collision(path) ?? this.#newNames.collision(path);
    if (other !== null) throw blockedPath('differs only in case from a name in use, or a file is in the way');
    const obstacle = obstacleAt(this.#tree.root, path);
    if (obstacle !== null) throw blockedPath(obstacle);
  }
}

function matches(ifMatch: string | null, present: string | null): boolean {
  return ifMatch === null || (ifMatch === 'none' ? present === null : ifMatch === present);
}

export function blockedPath(problem: string): CallError {
  return new CallError('VAF_PATH_BLOCKED', `The path ${problem}.`);
}
