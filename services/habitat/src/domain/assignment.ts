/** One place in an organisation per identity, and who reports to whom. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const MAX_TEAM_MEMBERS = 1000;

export interface Place {
  readonly org: string;
  readonly dept: string | null;
  readonly team: string | null;
  readonly role: string | null;
  readonly reportsTo: string | null;
}

export interface AssignmentFacts {
  readonly agentId: string;
  /** Whom `reportsTo` reports to, and so on upwards, itself first; empty = not assigned in the organisation. */
  readonly superiors: readonly string[];
  /** Of the team, without the agent. */
  readonly members: number;
}

export function judgePlace(
  { reportsTo, team }: Place,
  { agentId, superiors, members }: AssignmentFacts,
): Decision<null, 'E_CYCLE' | 'E_NOT_FOUND' | 'E_QUOTA'> {
  if (reportsTo === agentId || superiors.includes(agentId)) return deny('E_CYCLE');
  if (reportsTo !== null && superiors.length === 0) return deny('E_NOT_FOUND');
  return team !== null && members >= MAX_TEAM_MEMBERS ? deny('E_QUOTA') : allow(null);
}

export function isSamePlace(one: Place, other: Place): boolean {
  return (
    one.org === other.org &&
    one.dept === other.dept &&
    one.team === other.team &&
    one.role === other.role &&
    one.reportsTo === other.reportsTo
  );
}
