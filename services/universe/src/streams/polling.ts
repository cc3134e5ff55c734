/** Taking what is offered: who asks at once at one queue is served in one transaction. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { claimAtOnce, claimNext, endWaits } from './claim-rows.ts';
import type { StreamPlace } from './domain/stream.ts';
import type { Hand } from './domain/work.ts';
import { expired } from './expiry.ts';
import { readRetryAfter, readStream, type StreamRow } from './stream-rows.ts';
import { tell, type Told } from './telling.ts';
import type { WorkRow } from './work-rows.ts';

export interface Taking {
  readonly hand: Hand;
  readonly tokenHash: string;
  readonly ttlMs: number | null;
}

/** Who asks where. */
export interface Asking {
  readonly place: StreamPlace;
  readonly taking: Taking;
}

export interface Polled {
  readonly work: WorkRow | null;
  readonly retryAfterMs: number | null;
}

/** Of one queue: what is there goes to the first who ask. */
export async function pollAll(
  unit: Told,
  asked: readonly Asking[],
): Promise<readonly Decision<Polled, 'E_STREAM_ABSENT'>[]> {
  const [first] = asked;
  if (first === undefined) return [];
  const { tx } = unit;
  const claimants = asked.map(({ taking: { hand, tokenHash, ttlMs } }) => ({ name: hand.name, tokenHash, ttlMs }));
  const quick = await claimAtOnce(tx, first.place, claimants);
  if (quick === null) return asked.map(() => deny('E_STREAM_ABSENT'));
  const { row } = quick;
  const taken = quick.taken ?? (await claimOffered(unit, first.place, row, claimants));
  for (const work of taken) {
    const { workspace } = first.place;
    tell(unit, { work, workspace }, 'stream:claimed', { agentId: work.agentId ?? '', attempts: work.attempts });
  }
  const retryAfterMs = taken.length < asked.length ? await readRetryAfter(tx, row) : null;
  return asked.map((_one, index) => {
    const work = taken[index];
    return allow(work === undefined ? { work: null, retryAfterMs } : { work, retryAfterMs: null });
  });
}

/** After everything is offered that nobody holds any more, or that has waited for long enough. */
async function claimOffered(
  unit: Told,
  place: StreamPlace,
  { streamId, options: { ordered } }: StreamRow,
  claimants: Parameters<typeof claimNext>[2],
): Promise<WorkRow[]> {
  const { tx } = unit;
  const row = await readStream(tx, place, ordered ? 'FOR UPDATE' : '');
  if (row === null) return [];
  await expired(unit, streamId);
  while ((await endWaits(tx, streamId)) > 0);
  return claimNext(tx, row, claimants);
}
