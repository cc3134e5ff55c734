/** The registry's store: rows to read, and each way in which they change as a method that is one unit of work. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision } from '@svc/contract/decision.ts';
import { createGroupCommit } from '@svc/runtime/group-commit.ts';
import { type Change as GroupedOf, createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { assign, leave } from './assign.ts';
import { assembleCrew, type CrewWish, disbandCrew } from './crew.ts';
import { appendAudit, logEntry, tellOfBroken } from './audit-entries.ts';
import { type AuditPage, type AuditView, listEntries } from './audit-list.ts';
import { broadcast, delegate } from './delegate.ts';
import { decideTopic } from './governance-rows.ts';
import { kill } from './kill.ts';
import { claim, removePolicy, setPolicy, tellOfDenial } from './policy-changes.ts';
import { copyPolicies, removeCopies } from './policy-rows.ts';
import { readTokens, type StampedToken } from './identity-rows.ts';
import { provision, provisionFor, workspaceOfTeam } from './provision.ts';
import { addRole, removeRole } from './role-changes.ts';
import { changeSetting } from './setting-rows.ts';
import { spawn, type SpawnWish } from './spawn.ts';
import { grantToAgent, revokeFromAgent } from './sudo-store.ts';
import { beginTask, endTask } from './boot-task.ts';
import { escalateTask, grantToTask, openTask, revokeFromTask } from './sudo-tasks.ts';
import { confirmOrg, makeDept, makeOrg, makeTeam, makeTeamRole } from './team-making.ts';
import { mintAuthToken, mintToken, revokeToken } from './token-changes.ts';
import { type Pair, type PairNow, readPairs, readStandings, type StandingNow } from './trust-rows.ts';
import { recordTrades, type Trade, type TradeRecorded } from './trade-store.ts';
import { rate, type RatingWish, setRequired } from './trust-store.ts';
import { type Change, type ChangeParts, createChange, type HabitatCall, type HabitatUnit } from './unit.ts';
import { createWorkspace } from './workspace-changes.ts';

const MOST_WAIT_FOR_AUDIT_MS = 500;

export type HabitatStore = ReturnType<typeof createHabitatStore>;

type StoreParts = Omit<ChangeParts, 'platform'> & {
  readonly store: ServiceStore;
  readonly platform: ChangeParts['platform'] & Pick<Platform, 'clock'>;
};

export function createHabitatStore(parts: StoreParts) {
  const { client, checks, start, close, audit } = parts.store;
  const change = createChange(parts);
  return {
    client,
    checks,
    start,
    close,
    /** With what the registry itself had committed when it was asked, unless the chains do not take it now. */
    async auditEntries(view: AuditView, page: AuditPage) {
      await Promise.race([audit.flush(), sleep(MOST_WAIT_FOR_AUDIT_MS, undefined, { ref: false })]);
      return listEntries(client, view, page);
    },
    ...unitsOfWork(change),
    ...askedByMany(parts, change),
  };
}

/**
 * What a busy market asks so often, and a gateway of many sockets after each change of the registry, that those who ask at
 * once share statements and commits.
 */
function askedByMany({ store: { client }, platform: { clock } }: StoreParts, change: Change) {
  const ofNobody: GroupedOf<HabitatUnit> = (call, work) =>
    change({ ...call, caller: { ...call.caller, token: null } }, work);
  const reading = createGroupCommit<Pair, PairNow>(clock, (pairs) => readPairs(client, pairs));
  const weighing = createGroupCommit<readonly string[], readonly (readonly [string, StandingNow])[]>(
    clock,
    async (asked) => {
      const standings = await readStandings(client, asked.flat());
      return asked.map((ids) => [...new Set(ids)].flatMap((id) => pairOf(id, standings.get(id))));
    },
  );
  const verifying = createGroupCommit<string, StampedToken>(clock, (hashes) => readTokens(client, hashes));
  return {
    recordTrade: createGroupedChange<HabitatUnit, Trade, TradeRecorded, never>(ofNobody, clock, {
      laneOf: () => 'trades',
      run: recordTrades,
    }),
    /** By its hash. */
    token: (hash: string, deadlineAt: number): Promise<StampedToken> => verifying.submit('tokens', hash, deadlineAt),
    parties: (pair: Pair, deadlineAt: number): Promise<PairNow> => reading.submit('parties', pair, deadlineAt),
    /** Of each that is named, once. */
    standings: (entityIds: readonly string[], deadlineAt: number) =>
      weighing.submit('standings', entityIds, deadlineAt),
  };
}

function pairOf<Value>(id: string, value: Value | undefined): (readonly [string, Value])[] {
  return value === undefined ? [] : [[id, value]];
}

/** How a unit of work becomes a method. */
function methodsOn(change: Change) {
  return {
    method:
      <Rest extends unknown[], Value, Code extends string = never>(
        work: (unit: HabitatUnit, ...rest: Rest) => Promise<Decision<Value, Code>>,
      ) =>
      (call: HabitatCall, ...rest: Rest): Promise<Once<Value, Code>> =>
        change(call, (unit) => work(unit, ...rest)),
    /** Who waits for the row of the same thing waits here first, and takes no connection from those who want another one. */
    oneByOne:
      <Wish, Value, Code extends string = never>(
        nameOf: (wish: Wish) => string,
        work: (unit: HabitatUnit, wish: Wish) => Promise<Decision<Value, Code>>,
      ) =>
      (call: HabitatCall, wish: Wish): Promise<Once<Value, Code>> =>
        change(call, (unit) => work(unit, wish), { inTurnOf: nameOf(wish) }),
  };
}

const ofWorkspace = ({ workspace }: { readonly workspace: string }): string => `workspace:${workspace}`;

function unitsOfWork(change: Change) {
  const { method, oneByOne } = methodsOn(change);
  return {
    addRole: oneByOne(ofWorkspace, addRole),
    appendAudit: method(appendAudit),
    assembleCrew: oneByOne(({ workspace }: CrewWish) => ofWorkspace({ workspace }), assembleCrew),
    assign: method(assign),
    beginTask: method(beginTask),
    broadcast: method(broadcast),
    changeSetting: method(changeSetting),
    claim: method(claim),
    confirmOrg: method(confirmOrg),
    copyPolicies: method(copyPolicies),
    createWorkspace: method(createWorkspace),
    decideTopic: method(decideTopic),
    delegate: method(delegate),
    disbandCrew: oneByOne(ofWorkspace, disbandCrew),
    endTask: method(endTask),
    escalateTask: method(escalateTask),
    grantToAgent: method(grantToAgent),
    grantToTask: method(grantToTask),
    kill: method(kill),
    leave: method(leave),
    logEntry: method(logEntry),
    makeDept: method(makeDept),
    makeOrg: method(makeOrg),
    makeTeam: method(makeTeam),
    makeTeamRole: method(makeTeamRole),
    mintAuthToken: method(mintAuthToken),
    mintToken: method(mintToken),
    openTask: method(openTask),
    provision: oneByOne(ofWorkspace, provision),
    provisionFor: oneByOne(ofWorkspace, provisionFor),
    rate: oneByOne(({ entityId }: RatingWish) => `trust:${entityId}`, rate),
    removeCopies: method(removeCopies),
    removePolicy: method(removePolicy),
    removeRole: oneByOne(ofWorkspace, removeRole),
    revokeFromAgent: method(revokeFromAgent),
    revokeFromTask: method(revokeFromTask),
    revokeToken: method(revokeToken),
    setPolicy: method(setPolicy),
    setRequired: method(setRequired),
    spawn: oneByOne(({ team }: SpawnWish) => ofWorkspace({ workspace: workspaceOfTeam(team) }), spawn),
    tellOfBroken: method(tellOfBroken),
    tellOfDenial: method(tellOfDenial),
  };
}
