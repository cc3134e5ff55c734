/** Who may use a crew: whoever made it, its members, those of its workspace, operators. To others there is none. */
import { actorOf, mayActIn } from '@svc/contract/actor.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Role } from '@svc/contract/registry.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { UniverseDeps } from '../deps.ts';
import { standingOf } from '../standing.ts';
import { universeOf } from '../worlds/domain/seed-chain.ts';
import type { CrewRow } from './crew-rows.ts';

async function mayUse(
  deps: Pick<UniverseDeps, 'registry'>,
  caller: Caller,
  { createdBy, roster, workspace }: Pick<CrewRow, 'createdBy' | 'roster' | 'workspace'>,
  role: Role,
): Promise<boolean> {
  const { identity, operator } = actorOf(caller);
  if (operator) return true;
  if (identity === null || !mayActIn(caller, workspace)) return false;
  if (identity === createdBy || roster.some(({ id }) => id === identity)) return true;
  return (await standingOf(deps, caller)).holds(workspace, role);
}

export interface Named {
  readonly name: string;
  /** As the call names it; a crew is of one universe alone. */
  readonly universe: string | undefined;
  /** In its workspace, for who has not made it and is none of it. */
  readonly role: Role;
}

export async function findCrew(
  deps: Pick<UniverseDeps, 'registry' | 'crews'>,
  caller: Caller,
  { name, universe, role }: Named,
): Promise<Decision<CrewRow, 'E_SCENARIO_ABSENT' | 'E_SNAPSHOT_UNIVERSE'>> {
  const wished = universe === undefined ? null : universeOf({ named: universe });
  if (wished?.ok === false) return wished;
  const crew = await deps.crews.find(name);
  const isMeant = crew !== null && (wished === null || wished.value.fingerprint === crew.universe);
  return isMeant && (await mayUse(deps, caller, crew, role)) ? allow(crew) : deny('E_SCENARIO_ABSENT');
}
