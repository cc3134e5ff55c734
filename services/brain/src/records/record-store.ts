/** Notes about commits and files. They belong to a brain, whatever it is called, and are never changed. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { guardWrite, type LeaseCaller } from '../domain/lease.ts';
import { type FoundBrain, holdBrain } from '../store/home-store.ts';
import { shareLease } from '../store/lease-store.ts';
import { takeRoom } from '../store/usage.ts';
import { insertCitation, type NewCitation } from './citation-rows.ts';
import { CITATION_LIMITS } from './domain/citation.ts';
import { RESOLUTION_LIMITS } from './domain/resolution.ts';
import { insertResolution, type NewResolution, readResolutions } from './resolution-rows.ts';

interface CiteWish {
  readonly place: FoundBrain;
  readonly citation: Omit<NewCitation, 'id'>;
  /** Whom the lease is to let through. */
  readonly guard: LeaseCaller & { readonly fence: number | null };
}

interface TrackWish {
  readonly place: FoundBrain;
  readonly resolution: Omit<NewResolution, 'id'>;
  /** Who notes it. */
  readonly actor: string;
  /** Whose readers may be told of it. */
  readonly resources: readonly string[];
}

type CiteRefusal = 'E_LOCKED' | 'E_FENCED' | 'E_CITED' | 'E_QUOTA';
type Work = Pick<Unit, 'tx' | 'emit'>;
const ONE = { items: 1, bytes: 0 };

export type RecordStore = ReturnType<typeof createRecordStore>;

export function createRecordStore({ change }: Pick<ServiceStore, 'change'>, ids: Ids) {
  return {
    cite: (call: ChangeCall, wish: CiteWish): Promise<Once<{ id: string }, CiteRefusal>> =>
      change(call, (unit) => cite(unit, wish, ids.next('cit')), { inTurnOf: `citations of ${wish.place.brainId}` }),
    track: (call: ChangeCall, wish: TrackWish): Promise<Once<{ id: string; at: number }, 'E_QUOTA'>> =>
      change(call, (unit) => track(unit, wish, ids.next('res')), { inTurnOf: turnOf(wish) }),
    /** Under an id that its asker has made: noted once. */
    note: (call: ChangeCall, wish: TrackWish, id: string): Promise<Once<{ id: string; at: number }, 'E_QUOTA'>> =>
      change(call, (unit) => track(unit, wish, id), { inTurnOf: turnOf(wish) }),
  };
}

const turnOf = ({ place }: TrackWish): string => `resolutions of ${place.brainId}`;

async function cite(
  { tx, emit }: Work,
  { place, citation, guard }: CiteWish,
  id: string,
): Promise<Decision<{ id: string }, CiteRefusal>> {
  const { brain, brainId } = place;
  await holdBrain(tx, place);
  const { lease, now } = await shareLease(tx, brain);
  const guarded = guardWrite(lease, guard, now);
  if (!guarded.ok) return guarded;
  if (!(await insertCitation(tx, brainId, { id, ...citation }))) return deny('E_CITED');
  const limit = { items: CITATION_LIMITS.citations, bytes: 0 };
  if (!(await takeRoom(tx, { kind: 'citations', scope: brainId }, ONE, limit)))
    return deny('E_QUOTA', { limit: limit.items });
  emit({ name: 'citation:added', payload: { brain, id, by: citation.by, resources: [`brain:${brain}`] } });
  return allow({ id });
}

/** What is there under that id stays as it is. */
async function track(
  { tx, emit }: Work,
  { place, resolution, actor: by, resources }: TrackWish,
  id: string,
): Promise<Decision<{ id: string; at: number }, 'E_QUOTA'>> {
  const { brain, brainId } = place;
  await holdBrain(tx, place);
  const at = await insertResolution(tx, brainId, { id, ...resolution });
  if (at === null) return earlierOf(tx, brainId, id);
  const limit = { items: RESOLUTION_LIMITS.resolutions, bytes: 0 };
  if (!(await takeRoom(tx, { kind: 'resolutions', scope: brainId }, ONE, limit)))
    return deny('E_QUOTA', { limit: limit.items });
  const { file, branch, workspace } = resolution;
  const meant = workspace === null ? {} : { workspace };
  emit({ name: 'resolution:tracked', ...meant, payload: { brain, branch, id, file, by, resources: [...resources] } });
  return allow({ id, at });
}

async function earlierOf(
  tx: Work['tx'],
  brainId: string,
  id: string,
): Promise<Decision<{ id: string; at: number }, never>> {
  const [earlier] = await readResolutions(tx, brainId, [id]);
  if (earlier === undefined) throw new Error('a note that is there has no row');
  return allow({ id, at: earlier.at });
}
