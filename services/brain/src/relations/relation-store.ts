/** What belongs together, what is attended to, what was learned. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { type FoundBrain, holdBrain } from '../store/home-store.ts';
import { lockNames } from '../store/name-lock.ts';
import { takeRoom } from '../store/usage.ts';
import { type AttendWish, decideAttend } from './domain/attention.ts';
import { type Link, LINK_LIMITS } from './domain/link.ts';
import { type Insight, insertInsight, readInsights } from './insight-rows.ts';
import { dropAttention, insertLink, readAttention, readNamedSynapses, writeAttention } from './relation-rows.ts';

/** A call whose time decides what has faded. */
export type TimedCall = ChangeCall & { readonly now: number };

/** Something that is noted about a brain. */
interface Noted {
  readonly place: FoundBrain;
  readonly by: string;
  /** Whose readers may be told of it. */
  readonly resources: readonly string[];
}

type NewInsight = Pick<Insight, 'insight' | 'source' | 'tags' | 'by'> & {
  /** Empty = the space that all callers share. */
  readonly workspace: string;
};

type Work = Pick<Unit, 'tx' | 'emit'>;

export type RelationStore = ReturnType<typeof createRelationStore>;

export function createRelationStore({ client, change }: Pick<ServiceStore, 'client' | 'change'>, ids: Ids) {
  return {
    link: (call: ChangeCall, noted: Noted, link: Link): Promise<Once<{ existed: boolean }, 'E_QUOTA'>> =>
      change(call, (unit) => addLink(unit, noted, link), { inTurnOf: `links of ${noted.place.brainId}` }),
    attend: (call: TimedCall, noted: Noted, wish: AttendWish): Promise<Once<{ score: number; at: number }, never>> =>
      change(call, (unit) => attend(unit, noted, wish, call.now), { inTurnOf: attentionOf(noted.place.brainId) }),
    share: (call: TimedCall, insight: NewInsight): Promise<Once<Insight, never>> =>
      change(call, (unit) => share(unit, insight, call.now, ids), { inTurnOf: insightsOf(insight.workspace) }),
    insights: (workspace: string, limit: number) => readInsights(client, workspace, limit),
    /** Of all brains; who may see which is for the caller to judge. */
    synapses: (workspace: string) => readNamedSynapses(client, workspace),
  };
}

const attentionOf = (brainId: string): string => `attention of ${brainId}`;
const insightsOf = (workspace: string): string => `insights of ${workspace}`;

async function addLink(
  { tx, emit }: Work,
  { place, by, resources }: Noted,
  link: Link,
): Promise<Decision<{ existed: boolean }, 'E_QUOTA'>> {
  const { brain, brainId } = place;
  await holdBrain(tx, place);
  if (!(await insertLink(tx, brainId, link, by))) return allow({ existed: true });
  const limit = { items: LINK_LIMITS.links, bytes: 0 };
  if (!(await takeRoom(tx, { kind: 'links', scope: brainId }, { items: 1, bytes: 0 }, limit)))
    return deny('E_QUOTA', { limit: limit.items });
  emit({ name: 'brain:linked', payload: { brain, ...link, by, resources: [...resources] } });
  return allow({ existed: false });
}

async function attend({ tx, emit }: Work, { place, by, resources }: Noted, wish: AttendWish, at: number) {
  const { brain, brainId } = place;
  const { workspace, name } = wish;
  await holdBrain(tx, place);
  await lockNames(tx, [attentionOf(brainId)]);
  const { score, gone } = decideAttend(await readAttention(tx, brainId), wish, at);
  await writeAttention(tx, brainId, { workspace, name, score, at });
  await dropAttention(tx, brainId, gone);
  emit({ name: 'brain:attended', payload: { brain, about: name, score, by, resources: [...resources] } });
  return allow({ score, at });
}

/** The id is given when the row is next, so that the newest rows are those with the last ids. */
async function share({ tx, emit }: Work, { workspace, ...rest }: NewInsight, sharedAt: number, ids: Ids) {
  await lockNames(tx, [insightsOf(workspace)]);
  const insight = { id: ids.next('ins'), ...rest, sharedAt };
  await insertInsight(tx, workspace, insight);
  const payload = { id: insight.id, by: insight.by };
  emit({ name: 'insight:shared', ...(workspace === '' ? {} : { workspace }), payload });
  return allow(insight);
}
