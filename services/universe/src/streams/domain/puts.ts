/** What becomes of work that is put into one queue at once. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { StreamOptions } from './stream.ts';

export interface Enqueued {
  readonly id: string;
  readonly seq: number;
  readonly duplicate: boolean;
}

interface Keyed {
  readonly workId: string;
  readonly key: string | null;
}

interface QueueState {
  /** What is there already under keys of these. */
  readonly known: ReadonlyMap<string, Pick<Enqueued, 'id' | 'seq'>>;
  /** How much more fits. */
  readonly room: number;
  readonly lastSeq: number;
  readonly options: Pick<StreamOptions, 'maxItems'>;
}

export interface Puts<Item> {
  /** What is new, in the order of its numbers. */
  readonly added: readonly Item[];
  /** For each, in the order in which they came. */
  readonly decisions: readonly Decision<Enqueued, 'E_STREAM_FULL'>[];
}

export function decidePuts<Item extends Keyed>(works: readonly Item[], state: QueueState): Puts<Item> {
  const known = new Map(state.known);
  const added: Item[] = [];
  const decisions = works.map((work) => {
    const there = work.key === null ? undefined : known.get(work.key);
    if (there !== undefined) return allow({ ...there, duplicate: true });
    if (added.length >= state.room) return deny('E_STREAM_FULL', { limit: state.options.maxItems });
    added.push(work);
    const placed = { id: work.workId, seq: state.lastSeq + added.length };
    if (work.key !== null) known.set(work.key, placed);
    return allow({ ...placed, duplicate: false });
  });
  return { added, decisions };
}
