/** The registry's store: rows to read, and each way in which they change as a method that is one unit of work. */
import type { Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { assign, leave } from './assign.ts';
import { appendAudit, logEntry, tellOfBroken } from './audit-entries.ts';
import { broadcast, delegate } from './delegate.ts';
import { decideTopic } from './governance-rows.ts';
import { kill } from './kill.ts';
import { claim, removePolicy, setPolicy, tellOfDenial } from './policy-changes.ts';
import { copyPolicies } from './policy-rows.ts';
import { provision, provisionFor, workspaceOfTeam } from './provision.ts';
import { addRole, removeRole } from './role-changes.ts';
import { changeSetting } from './setting-rows.ts';
import { spawn, type SpawnWish } from './spawn.ts';
import { grantToAgent, revokeFromAgent } from './sudo-store.ts';
import { escalateTask, grantToTask, openTask, revokeFromTask } from './sudo-tasks.ts';
import { confirmOrg, makeDept, makeOrg, makeTeam, makeTeamRole } from './team-making.ts';
import { mintAuthToken, mintToken, revokeToken } from './token-changes.ts';
import { rate, type RatingWish, recordTrade, setRequired } from './trust-store.ts';
import { type Change, type ChangeParts, createChange, type HabitatCall, type HabitatUnit } from './unit.ts';
import { createWorkspace } from './workspace-changes.ts';

export type HabitatStore = ReturnType<typeof createHabitatStore>;

export function createHabitatStore(parts: ChangeParts & { readonly store: ServiceStore }) {
  const { client, checks, start, close } = parts.store;
  return { client, checks, start, close, ...unitsOfWork(createChange(parts)) };
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
    assign: method(assign),
    broadcast: method(broadcast),
    changeSetting: method(changeSetting),
    claim: method(claim),
    confirmOrg: method(confirmOrg),
    copyPolicies: method(copyPolicies),
    createWorkspace: method(createWorkspace),
    decideTopic: method(decideTopic),
    delegate: method(delegate),
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
    recordTrade: method(recordTrade),
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
