/** A crew comes into being: agents and their workspace at once, then the pool. What cannot be had whole is undone. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';
import {
  type CrewRow,
  deleteUndone,
  deleteUnmade,
  insertCrew,
  moveAssembly,
  type NewCrew,
  readCrewById,
  readCrewNamed,
  updateCrew,
} from './crew-rows.ts';
import { accountOfCrew, phaseAfter } from './domain/crew.ts';
import { answered, type CrewPorts } from './ports.ts';

type AssemblyRefusal = 'E_SCENARIO_SPAWN' | 'E_SCENARIO_NAME';
type StepRefusal = AssemblyRefusal | 'E_STATE_WRITE';

interface Assembled {
  readonly crewId: string;
  readonly created: boolean;
}

interface Parts {
  readonly store: UniverseStore;
  readonly ports: Pick<CrewPorts, 'registry' | 'money'>;
}

/** On nobody's behalf: what was begun goes on. */
export const OWN_CALL: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

export type Assembling = ReturnType<typeof createAssembling>;

export function createAssembling(parts: Parts) {
  const { store } = parts;
  const { client, change, idempotency } = store;
  return {
    /**
     * The same crew of the same caller again is the one that is there. Throws E_OUTCOME_UNKNOWN while others are silent, and
     * E_STATE_WRITE, of which a repetition under the same key must not hear once there is room.
     */
    async assemble(call: ChangeCall, wish: Omit<NewCrew, 'openKey'>): Promise<Once<Assembled, AssemblyRefusal>> {
      const earlier = await idempotency.find<Assembled, AssemblyRefusal>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const openKey = call.idempotency === null ? null : idempotencyId(call.idempotency);
      const begun = await begin(parts, { ...call, idempotency: null }, { ...wish, openKey });
      if (!begun.ok) return change(call, async () => begun);
      const finished = await goOn(parts, begun.value.crewId);
      if (finished.ok) return change(call, async () => begun);
      const { code, details, message } = finished;
      if (code === 'E_STATE_WRITE') throw new Refusal(code, details, message);
      return change<Assembled, AssemblyRefusal>(call, async () => deny(code, details, message));
    },
    goOn: (crewId: string) => goOn(parts, crewId),
    undo: (crewId: string) => undo(parts, crewId),
    /** Whether nothing can come of it any more but an end: no pool was opened, and no answer is under way. */
    async isPoolless(crewId: string): Promise<boolean> {
      const crew = await readCrewById(client, crewId);
      if (crew === null) return false;
      const { budget } = await parts.ports.money.balance({ account: accountOfCrew(crew.name) });
      return budget === null;
    },
  };
}

/** Its name is reserved. */
async function begin(
  { store }: Parts,
  call: ChangeCall,
  wish: NewCrew,
): Promise<Decision<Assembled, 'E_SCENARIO_NAME'>> {
  const { decision } = await store.change<Assembled, 'E_SCENARIO_NAME'>(call, async ({ tx }) => {
    if (await insertCrew(tx, wish)) return allow({ crewId: wish.crewId, created: true });
    const known = await readCrewNamed(tx, wish.name);
    // It was undone since.
    if (known === null || known.step === 'undo') throw new CallError('SERVICE_UNAVAILABLE', undefined, AGAIN);
    if (!isSame(known, wish)) return deny('E_SCENARIO_NAME', { taken: true });
    return allow({ crewId: known.crewId, created: wish.openKey !== null && known.openKey === wish.openKey });
  });
  return decision;
}

const AGAIN = { retryAfterMs: 100 };

function isSame(known: CrewRow, { name, createdBy, universe, roster, limit }: NewCrew): boolean {
  const isSize = known.roster.length === roster.length && known.limit === limit;
  return isSize && known.name === name && known.createdBy === createdBy && known.universe === universe;
}

/** From wherever it stands; whoever else goes on with it meanwhile does the same. */
async function goOn(parts: Parts, crewId: string): Promise<Decision<null, StepRefusal>> {
  const { client } = parts.store;
  for (;;) {
    const crew = await readCrewById(client, crewId);
    if (crew === null || crew.step === 'undo') throw new CallError('SERVICE_UNAVAILABLE', undefined, AGAIN);
    if (crew.step === 'done') return allow(null);
    const { step } = crew;
    // Nobody takes it for abandoned while an answer may still come.
    if (!(await moveAssembly(client, crewId, { from: step, to: step }))) continue;
    const done = step === 'spawn' ? await spawn(parts, crew) : await openPool(parts, crew);
    if (done.ok || !(await takeBack(parts, crew))) continue;
    return done;
  }
}

/** What its steps have made until one was refused, and no more. False = somebody else got further: what was refused is there. */
async function takeBack(parts: Parts, { crewId, step: from }: CrewRow): Promise<boolean> {
  const { client } = parts.store;
  if (from === 'spawn') return deleteUnmade(client, crewId);
  if (!(await moveAssembly(client, crewId, { from, to: 'undo' }))) return false;
  await undo(parts, crewId);
  return true;
}

async function spawn(
  { store, ports }: Parts,
  { crewId, workspace, owner, roster, createdBy: by, operator }: CrewRow,
): Promise<Decision<null, 'E_SCENARIO_SPAWN' | 'E_STATE_WRITE'>> {
  const agents = roster.map(({ id: agentId, name, role }) => ({ agentId, name, role }));
  const spawned = await answered(ports.registry.assemble({ workspace, owner, agents }, { by, operator }));
  if (!spawned.ok && spawned.code === 'E_STATE_WRITE') return deny(spawned.code, spawned.details, spawned.message);
  if (!spawned.ok) return deny('E_SCENARIO_SPAWN', { reason: spawned.code });
  await moveAssembly(store.client, crewId, { from: 'spawn', to: 'pool' });
  return allow(null);
}

/** The last step: an account is never closed again. */
async function openPool({ store, ports }: Parts, crew: CrewRow): Promise<Decision<null, 'E_SCENARIO_NAME'>> {
  const { crewId, name, limit, createdBy: by } = crew;
  const account = accountOfCrew(name);
  const wish = { account, limit: creditsFromAmount(limit as AmountMicros), ref: crewId };
  const opened = await answered(ports.money.open(wish, { by }));
  // Somebody else had opened it: it is no pool of this crew.
  if (!opened.ok || !opened.value.created) return deny('E_SCENARIO_NAME', { taken: true });
  await store.change(OWN_CALL, async ({ tx, emit }) => {
    const phase = phaseAfter(crew.phase, 'assembled');
    if (phase === null || !(await moveAssembly(tx, crewId, { from: 'pool', to: 'done' }))) return allow(null);
    await updateCrew(tx, crewId, { phase });
    emit({
      name: 'scenario:assembled',
      workspace: crew.workspace,
      payload: { crew: name, agents: crew.roster.length, by },
    });
    return allow(null);
  });
  return allow(null);
}

/** Of a crew that is marked so. */
async function undo({ store, ports }: Parts, crewId: string): Promise<void> {
  const crew = await readCrewById(store.client, crewId);
  if (crew?.step !== 'undo') return;
  const { workspace, roster, createdBy: by, operator } = crew;
  const agentIds = roster.map(({ id }) => id);
  await answered(ports.registry.disband({ workspace, agentIds }, { by, operator }));
  await deleteUndone(store.client, crewId);
}
