/** Crews: everything about them that the service has. */
import type { Actor } from '@svc/contract/actor.ts';
import { IdentityId } from '@svc/contract/names.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { InboxStore } from '../streams/inbox-store.ts';
import type { UniverseStore } from '../universe-store.ts';
import { type Universe, worldSeed } from '../worlds/domain/seed-chain.ts';
import { createAssembling } from './assembling.ts';
import { type CrewRow, type NewCrew, readCrew } from './crew-rows.ts';
import { type CrewPlan, rosterOf, workspaceOfCrew } from './domain/crew.ts';
import { poolOf, statesOf } from './judging.ts';
import { createCrewPorts } from './ports.ts';
import { createCrewReconciler } from './reconciler.ts';
import { createTaskStore } from './task-store.ts';

type Needed = Pick<Platform, 'bus' | 'clock' | 'ids' | 'log' | 'config' | 'database'>;

export type Crews = ReturnType<typeof createCrews>;

export function createCrews(
  platform: Needed,
  store: UniverseStore,
  inboxes: Pick<InboxStore, 'put' | 'complete' | 'fail'>,
) {
  const { ids, clock, log, config, database } = platform;
  const ports = createCrewPorts(platform);
  const parts = { store, ports, inboxes, log };
  const assembling = createAssembling(parts);
  const reconciler = createCrewReconciler({ ...parts, assembling });
  // Beside the start, which does not wait for others.
  const looked = reconciler
    .finish({ alone: database.exclusive })
    .catch((error: unknown) => log.error({ err: error }, 'crews could not be looked at'));
  return {
    /** Of the node, where a call names none. */
    universe: config.SVC_UNIVERSE_SEED,
    assembling,
    /** A crew as it is to be; its agents have their ids from now on. */
    drawUp: (plan: CrewPlan, universe: Universe, maker: Actor) => drawUp(ids, plan, { universe, maker }),
    tasks: createTaskStore({ ...parts, ids, clock }),
    reconciler,
    find: (name: string): Promise<CrewRow | null> => readCrew(store.client, name),
    states: (crew: CrewRow) => statesOf(ports, crew),
    pool: (crew: CrewRow) => poolOf(ports, crew),
    close: (): Promise<void> => looked,
  };
}

function drawUp(
  ids: Ids,
  { name, size, limit }: CrewPlan,
  { universe, maker }: { readonly universe: Universe; readonly maker: Actor },
): Omit<NewCrew, 'openKey'> {
  const { identity, name: createdBy, operator } = maker;
  const owner = IdentityId.safeParse(identity);
  const agentIds = Array.from({ length: size }, () => ids.next('agt'));
  return {
    crewId: ids.next('crew'),
    name,
    universe: universe.fingerprint,
    seed: worldSeed(universe, name).toString('hex'),
    roster: rosterOf(name, agentIds),
    workspace: workspaceOfCrew(name),
    owner: owner.success ? owner.data : null,
    limit,
    createdBy,
    operator,
  };
}
