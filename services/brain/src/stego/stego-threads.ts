/** Two threads for all pictures of this process: so much memory and processor time they take at most. */
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { ThreadEnded, ThreadTooSlow, WorkThread } from '../thread/work-thread.ts';
import type { Found, Hidden, Hiding, Seeking, StegoAnswer, StegoQuestion } from './stego-work.ts';

const THREADS = 2;
/** More calls than that do not wait for their turn. */
const MAX_WAITING = 32;

export type StegoThreads = ReturnType<typeof createStegoThreads>;

/** `leftMs`: what a call may still take. Both throw E_BUSY and TIMEOUT. */
export function createStegoThreads() {
  const script = new URL('./stego.worker.ts', import.meta.url);
  const threads = Array.from({ length: THREADS }, () => ({
    thread: new WorkThread<StegoQuestion, StegoAnswer>(script),
    waiting: 0,
  }));
  const ask = async (question: StegoQuestion, leftMs: number): Promise<StegoAnswer> => {
    const [first, ...others] = threads;
    if (first === undefined) throw new Error('no thread for pictures');
    const least = others.reduce((best, other) => (other.waiting < best.waiting ? other : best), first);
    if (least.waiting * THREADS >= MAX_WAITING) throw new CallError('E_BUSY');
    least.waiting += 1;
    try {
      return await least.thread.ask(question, leftMs);
    } catch (error) {
      if (error instanceof ThreadTooSlow) throw new CallError('TIMEOUT');
      if (!(error instanceof ThreadEnded)) throw error;
      return deny('E_IMAGE_LIMIT', {}, 'The image takes more memory than there is for it.');
    } finally {
      least.waiting -= 1;
    }
  };
  return {
    hide: (hide: Hiding, leftMs: number) => ask({ hide }, leftMs) as Promise<Hidden>,
    seek: (seek: Seeking, leftMs: number) => ask({ seek }, leftMs) as Promise<Found>,
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(threads.map(({ thread }) => thread[Symbol.asyncDispose]()));
    },
  };
}
