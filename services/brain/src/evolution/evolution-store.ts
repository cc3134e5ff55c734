/** Sessions of work: begun, added to, ended. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ChangeOptions, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { type FoundBrain, holdBrain } from '../store/home-store.ts';
import { lockNames } from '../store/name-lock.ts';
import {
  dropOldest,
  endEvolution,
  type EvolutionRow,
  insertEvolution,
  lockActive,
  noteInsight,
  readActive,
  type Worker,
} from './evolution-rows.ts';

export type TimedCall = ChangeCall & { readonly now: number };

/** Who works, and where. */
export interface WorkPlace {
  readonly place: FoundBrain;
  readonly branch: string;
  /** Of the caller; empty = none. */
  readonly workspace: string;
  readonly session: string;
  readonly by: string;
}

/** As it is told; `id` is the name that it was given. */
interface ActiveEvolution {
  readonly id: string;
  readonly brain: string;
  readonly branch: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

export interface Ended {
  /** Of the row. */
  readonly id: string;
}

interface NotedInsight {
  readonly session: string;
  /** Of the session, with this one. */
  readonly insights: number;
  readonly autoStarted: boolean;
}

type Work = Pick<Unit, 'tx' | 'emit'>;
export type EvolutionStore = ReturnType<typeof createEvolutionStore>;

export function createEvolutionStore({ client, change }: Pick<ServiceStore, 'client' | 'change'>, ids: Ids) {
  const next = (): string => ids.next('evo');
  return {
    start: (
      call: TimedCall,
      work: WorkPlace,
      name: string | null,
    ): Promise<Once<ActiveEvolution, 'E_EVOLUTION_ACTIVE'>> =>
      change(call, (unit) => start(unit, work, { id: next(), name, now: call.now }), inTurnOf(work)),
    end: (call: TimedCall, work: WorkPlace): Promise<Once<Ended, 'E_EVOLUTION_ABSENT'>> =>
      change(call, (unit) => end(unit, work, call.now)),
    insight: (call: TimedCall, work: WorkPlace, insight: string): Promise<Once<NotedInsight, never>> =>
      change(call, (unit) => addInsight(unit, work, { id: next(), insight, now: call.now }), inTurnOf(work)),
    /** Of that session of a caller; null when no work goes on. */
    active: (worker: Worker): Promise<EvolutionRow | null> => readActive(client, worker),
  };
}

function evolutionsOf({ place }: WorkPlace): string {
  return `evolutions of ${place.brainId}`;
}

function inTurnOf(work: WorkPlace): ChangeOptions {
  return { inTurnOf: evolutionsOf(work) };
}

export function shownActive({ name: id, branch, startedAt }: EvolutionRow, brain: string): ActiveEvolution {
  return { id, brain, branch, startedAt: Math.round(startedAt) };
}

function workerOf({ place, session }: WorkPlace): Worker {
  return { brainId: place.brainId, session };
}

function told(
  name: 'evolution:started' | 'evolution:ended' | 'evolution:noted',
  { place: { brain }, workspace, by }: WorkPlace,
  session: string,
): NewEvent {
  const payload = { brain, session, by, resources: [`brain:${brain}`] };
  return { name, ...(workspace === '' ? {} : { workspace }), payload };
}

interface Beginning {
  readonly id: string;
  /** Null = called like its row. */
  readonly name: string | null;
  readonly now: number;
}

/** Null when work goes on already. */
async function begin({ tx, emit }: Work, work: WorkPlace, { id, name, now }: Beginning) {
  const { place, branch, workspace, by } = work;
  const started = { id, name: name ?? id, branch, workspace, by, startedAt: now };
  if (!(await insertEvolution(tx, workerOf(work), started))) return null;
  await dropOldest(tx, place.brainId);
  emit(told('evolution:started', work, started.name));
  return started;
}

async function start(
  unit: Work,
  work: WorkPlace,
  beginning: Beginning,
): Promise<Decision<ActiveEvolution, 'E_EVOLUTION_ACTIVE'>> {
  const { place, branch } = work;
  await holdBrain(unit.tx, place);
  await lockNames(unit.tx, [evolutionsOf(work)]);
  const started = await begin(unit, work, beginning);
  if (started !== null) return allow({ id: started.name, brain: place.brain, branch, startedAt: beginning.now });
  const active = await readActive(unit.tx, workerOf(work));
  return deny('E_EVOLUTION_ACTIVE', active === null ? {} : { session: shownActive(active, place.brain) });
}

async function end({ tx, emit }: Work, work: WorkPlace, now: number): Promise<Decision<Ended, 'E_EVOLUTION_ABSENT'>> {
  await holdBrain(tx, work.place);
  const active = await lockActive(tx, workerOf(work));
  if (active === null) return deny('E_EVOLUTION_ABSENT');
  await endEvolution(tx, work.place.brainId, active.id, now);
  emit(told('evolution:ended', work, active.name));
  return allow({ id: active.id });
}

async function addInsight(
  unit: Work,
  work: WorkPlace,
  { id, insight, now }: { readonly id: string; readonly insight: string; readonly now: number },
) {
  const { tx, emit } = unit;
  const { place } = work;
  await holdBrain(tx, place);
  await lockNames(tx, [evolutionsOf(work)]);
  const present = await lockActive(tx, workerOf(work));
  const started = present === null ? await begin(unit, work, { id, name: null, now }) : null;
  const session = present ?? started;
  if (session === null) throw new Error('work goes on and cannot be found');
  const count = (present?.insights ?? 0) + 1;
  await noteInsight(tx, place.brainId, { id: session.id, count }, { insight, at: now });
  emit(told('evolution:noted', work, session.name));
  return allow({ session: session.name, insights: count, autoStarted: present === null });
}
