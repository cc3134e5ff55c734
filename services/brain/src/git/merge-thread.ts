/** Merges of texts, the large ones on a thread of their own: everybody else would wait for them. */
import { CallError } from '@svc/contract/codes.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type FileVersions, mergeFile } from '../domain/merge/file.ts';
import type { TextMerge } from '../domain/merge/lines.ts';
import { ThreadEnded, ThreadTooSlow, WorkThread } from '../thread/work-thread.ts';

/** UTF-16 units of all versions together; more is merged beside the main thread. */
const SMALL_WORK = 32 * 1024;

export interface MergeLimits {
  /** For what a caller is not told: which file it was. */
  readonly log: Pick<Platform['log'], 'warn' | 'error'>;
  /** How long all merges of this thread may take together. */
  readonly withinMs: number;
}

/** The thread starts with the first large merge and ends with this. */
export class MergeThread implements AsyncDisposable {
  readonly #thread = new WorkThread<FileVersions, TextMerge>(new URL('./merge.worker.ts', import.meta.url));
  readonly #log: MergeLimits['log'];
  readonly #endsAt: number;

  constructor({ log, withinMs }: MergeLimits) {
    this.#log = log;
    this.#endsAt = performance.now() + withinMs;
  }

  /** Null when no thread can do it, for want of memory say. Throws TIMEOUT; what else it throws is a bug. */
  async merge(versions: FileVersions): Promise<TextMerge | null> {
    const { path, base, ours, theirs } = versions;
    if (base.length + ours.length + theirs.length <= SMALL_WORK) return mergeFile(versions);
    try {
      return await this.#thread.ask(versions, this.#endsAt - performance.now());
    } catch (error) {
      if (error instanceof ThreadTooSlow) {
        this.#log.warn({ path }, 'a merge took longer than its call may');
        throw new CallError('TIMEOUT', 'Merging took longer than the call may; nothing changed.');
      }
      if (!(error instanceof ThreadEnded)) throw error;
      this.#log.error({ path }, 'the thread that merges ended over a file twice: it is kept as a conflict');
      return null;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }
}
