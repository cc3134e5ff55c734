/** Escalating, granting and revoking: the rules of domain/sudo.ts on locked rows, with history, events and audit. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, actorOf, mayActIn } from '../domain/actor.ts';
import { agentNotFound } from '../domain/agent-rights.ts';
import { homeOf } from '../domain/identity.ts';
import { decideEscalation, decideGrant, decideRevocation, type Grant, type Granter } from '../domain/sudo.ts';
import type { Scope } from '../domain/sudo-scopes.ts';
import { heldRoles } from '../roles.ts';
import { readIdentity } from './identity-rows.ts';
import {
  countEscalations,
  deleteGrant,
  endRequest,
  type HistoryEntry,
  insertHistory,
  insertRequest,
  lockPrincipal,
  principalOfAgent,
  principalOfTask,
  readHeld,
  readScopeState,
  type SudoTask,
  writeGrant,
} from './sudo-rows.ts';
import { meets } from './trust-rows.ts';
import type { HabitatUnit } from './unit.ts';

/** Who gets scopes. */
interface SudoPrincipal {
  readonly key: string;
  /** The agent itself, or the owner of the task. */
  readonly owner: string;
  /** Where its admins may grant; null = an agent that is at home nowhere. */
  readonly workspace: string | null;
  readonly endsAt: number;
}

export function taskPrincipal({ taskId, owner, workspace, expiresAt }: SudoTask): SudoPrincipal {
  return { key: principalOfTask(taskId), owner, workspace, endsAt: expiresAt };
}

export async function agentPrincipal(client: SqlClient, agentId: string): Promise<SudoPrincipal> {
  const home = homeOf((await readIdentity(client, agentId)).value);
  return { key: principalOfAgent(agentId), owner: agentId, workspace: home, endsAt: Infinity };
}

export interface ScopeWish {
  readonly principal: SudoPrincipal;
  readonly scope: Scope;
}

export interface Escalation {
  readonly granted: boolean;
  readonly scope: string;
  /** Of the request that waits, or that was answered by this. */
  readonly requestId: string | null;
  /** Until when the grant lasts, or the request waits. */
  readonly expiresAt: number;
}

/** The caller owns the task, or is an operator. */
export async function escalate(
  unit: HabitatUnit,
  { principal, scope, reason, workspace }: ScopeWish & { readonly reason: string | null; readonly workspace: string },
): Promise<Decision<Escalation, 'E_RATE_LIMIT'>> {
  const { tx } = unit;
  const { name, operator } = actorOf(unit.caller);
  await lockPrincipal(tx, principal.key);
  const state = await readScopeState(unit, principal, scope);
  const roles = await heldRoles(tx, unit.caller, workspace);
  const escalationsLastMinute = await countEscalations(tx, principal.key);
  const isEditor = operator || holdsAtLeast(roles, 'editor');
  const decision = decideEscalation(state, { operator, isEditor, escalationsLastMinute });
  if (!decision.ok) return decision;
  const { value } = decision;
  const shown = { scope: scope.text, expiresAt: value.expiresAt };
  await note(unit, { principal: principal.key, event: 'escalated', scope: scope.text, by: name });
  if (value.kind === 'held') return allow({ ...shown, granted: true, requestId: null });
  if (value.kind === 'pending') return allow({ ...shown, granted: false, requestId: value.requestId });
  if (value.kind === 'requested') {
    const requestId = unit.ids.next('req');
    const request = { ...shown, requestId, principal: principal.key, reason, workspace, by: name };
    await insertRequest(tx, request);
    const payload = { principal: principal.key, scope: scope.text, requestId, by: name };
    unit.emit({ name: 'sudo:requested', workspace, payload });
    return allow({ ...shown, granted: false, requestId });
  }
  const { requestId } = value;
  await give(unit, { principal, scope }, { expiresAt: value.expiresAt, requestId, reason });
  return allow({ ...shown, granted: true, requestId });
}

export interface GrantDone {
  readonly expiresAt: number;
  readonly requestId: string | null;
}

export async function grantScope(unit: HabitatUnit, wish: ScopeWish): Promise<Decision<GrantDone, 'FORBIDDEN'>> {
  const { principal, scope } = wish;
  await lockPrincipal(unit.tx, principal.key);
  const state = await readScopeState(unit, principal, scope);
  const decision = decideGrant(state, await granterOf(unit.tx, unit.caller, principal));
  if (!decision.ok) return decision;
  const { expiresAt, request } = decision.value;
  const requestId = request?.requestId ?? null;
  await give(unit, wish, { expiresAt, requestId, reason: request?.reason ?? null });
  return allow({ expiresAt, requestId });
}

/** False when there was nothing to end. */
export async function revokeScope(unit: HabitatUnit, wish: ScopeWish): Promise<Decision<boolean, 'FORBIDDEN'>> {
  const { principal, scope } = wish;
  const { tx } = unit;
  await lockPrincipal(tx, principal.key);
  const state = await readScopeState(unit, principal, scope);
  const decision = decideRevocation(state, await granterOf(tx, unit.caller, principal));
  if (!decision.ok) return decision;
  const ended = decision.value;
  if (ended.kind === 'nothing') return allow(false);
  const { name: by } = actorOf(unit.caller);
  if (ended.kind === 'denied') await endRequest(tx, ended.request.requestId, 'denied', by);
  else await deleteGrant(tx, principal.key, scope.text);
  const what = { principal: principal.key, scope: scope.text, by };
  await note(unit, { ...what, event: ended.kind });
  const event = ended.kind === 'denied' ? 'sudo:denied' : 'sudo:revoked';
  unit.emit({ name: event, payload: { ...what, parties: [principal.owner, by] } });
  unit.audit({ event, workspace: principal.workspace, data: what });
  return allow(true);
}

async function granterOf(tx: SqlClient, caller: Acting, principal: SudoPrincipal): Promise<Granter> {
  const { workspace, owner } = principal;
  const { name, operator } = actorOf(caller);
  const roles = workspace === null ? [] : await heldRoles(tx, caller, workspace);
  return {
    name,
    operator,
    isPrincipal: name === owner,
    isWorkspaceAdmin: roles.includes('admin'),
    holds: operator || workspace === null ? [] : await heldAtHome(tx, caller, workspace),
  };
}

/** What the caller holds itself, if it is at home in the workspace. */
async function heldAtHome(tx: SqlClient, caller: Acting, workspace: string): Promise<Grant[]> {
  const actor = actorOf(caller);
  if (actor.identity === null || !mayActIn(actor, workspace)) return [];
  const self = await agentPrincipal(tx, actor.identity);
  return self.workspace === workspace ? readHeld(tx, self.key) : [];
}

async function give(
  unit: HabitatUnit,
  { principal, scope }: ScopeWish,
  grant: Pick<Grant, 'expiresAt' | 'requestId' | 'reason'>,
): Promise<void> {
  const { name: by } = actorOf(unit.caller);
  const { expiresAt, requestId } = grant;
  if (requestId !== null) await endRequest(unit.tx, requestId, 'granted', by);
  await writeGrant(unit.tx, principal.key, { ...grant, scope: scope.text, grantedBy: by });
  const what = { principal: principal.key, scope: scope.text, by };
  await note(unit, { ...what, event: 'granted' });
  unit.emit({ name: 'sudo:granted', payload: { ...what, expiresAt, parties: [principal.owner, by] } });
  unit.audit({ event: 'sudo:granted', workspace: principal.workspace, data: { ...what, expiresAt, requestId } });
}

function note({ tx, ids }: HabitatUnit, entry: Omit<HistoryEntry, 'id'>): Promise<void> {
  return insertHistory(tx, { id: ids.next('sdh'), ...entry });
}

interface AgentScope {
  readonly agentId: string;
  readonly scope: Scope;
}

/** Throws FORBIDDEN to who sees the agent, but may not give it that. */
export async function grantToAgent(
  unit: HabitatUnit,
  { agentId, scope }: AgentScope,
): Promise<Decision<GrantDone, 'AGENT_NOT_FOUND'>> {
  const principal = await agentPrincipal(unit.tx, agentId);
  const isSeen = await meets(unit.tx, actorOf(unit.caller), agentId);
  if (principal.workspace === null || !isSeen) return agentNotFound(agentId);
  return orThrown(await grantScope(unit, { principal, scope }));
}

/** Throws FORBIDDEN. */
export async function revokeFromAgent(
  unit: HabitatUnit,
  { agentId, scope }: AgentScope,
): Promise<Decision<boolean, never>> {
  return orThrown(await revokeScope(unit, { principal: await agentPrincipal(unit.tx, agentId), scope }));
}

function orThrown<Value>(decision: Decision<Value, 'FORBIDDEN'>): Decision<Value, never> {
  if (!decision.ok) throw new CallError(decision.code, decision.message);
  return decision;
}
