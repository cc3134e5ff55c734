/**
 * Who may use a crew: whoever made it and its members, as long as they hold a role in its workspace; others there by their
 * roles; operators. To everybody else there is none.
 */
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
  const { identity, holds } = await standingOf(deps, caller);
  const isOfCrew = identity !== null && (identity === createdBy || roster.some(({ id }) => id === identity));
  return holds(workspace, isOfCrew ? 'viewer' : role);
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
