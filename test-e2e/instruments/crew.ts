/** Crews as scenarios make and look at them. */
import type { Caller, Fields } from '../client.ts';
import { newName } from '../verifies.ts';

interface RosterMember {
  readonly id: string;
  readonly name: string;
  readonly alive?: boolean;
}

interface MadeCrew {
  readonly crew: string;
  readonly workspace: string;
  readonly roster: readonly RosterMember[];
}

export async function makeCrew(who: Caller, more: Fields = {}): Promise<MadeCrew> {
  const { crew, workspace, roster } = await who.ok('svc_scenario_crew', { name: newName('crew'), ...more });
  return { crew: String(crew), workspace: String(workspace), roster: roster as RosterMember[] };
}

/** The pool as the ledger itself shows it to operators. */
export async function budgetOf(operator: Caller, crew: string): Promise<Fields | null> {
  return ((await operator.ok('escrow_status', { org: `crew:${crew}` })).budget ?? null) as Fields | null;
}

export async function deltasOf(operator: Caller, crew: string): Promise<Fields[]> {
  return (await operator.ok('svc_resolution_list', { file: `scenario/${crew}`, limit: 500 })).deltas as Fields[];
}
