/** Merges of texts, the large ones on a thread of their own: everybody else would wait for them. */
import { Worker } from 'node:worker_threads';
import { type FileVersions, mergeFile } from '../domain/merge/file.ts';
import type { TextMerge } from '../domain/merge/lines.ts';

/** UTF-16 units of all versions together; more is merged beside the main thread. */
const SMALL_WORK = 32 * 1024;

/** The thread starts with the first large merge and ends with this. */
export class MergeThread implements AsyncDisposable {
  #worker: Worker | null = null;

  /** Null when the thread ended over it, for want of memory say. One merge at a time. */
  async merge(versions: FileVersions): Promise<TextMerge | null> {
    const { base, ours, theirs } = versions;
    if (base.length + ours.length + theirs.length <= SMALL_WORK) return mergeFile(versions);
    const worker = (this.#worker ??= startWorker());
    const merge = await new Promise<TextMerge | null>((resolve) => {
      const settle = (answer: TextMerge | null): void => {
        worker.off('message', settle).off('exit', fail);
        resolve(answer);
      };
      const fail = (): void => settle(null);
      worker.on('message', settle).on('exit', fail);
      worker.postMessage(versions, []);
    });
    if (merge === null) this.#worker = null;
    return merge;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
  }
}

function startWorker(): Worker {
  const worker = new Worker(new URL('./merge.worker.ts', import.meta.url), {
    execArgv: [], // options meant for the entry of this process do not fit the thread's
  });
  return worker.on('error', () => {}); // 'exit' follows
}
