/** What somebody who spawns has to do with the team and the brain that it gives, read from the rows. */
import { foldCase } from '@svc/contract/names.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, actorOf, mayActIn } from '../domain/actor.ts';
import {
  type BrainHeld,
  passBrainOn,
  passTeamOn,
  sharesTeamName,
  type TeamClaim,
  type TeamHeld,
} from '../domain/agent-rights.ts';
import { holdsRole } from '../roles.ts';
import { HOLDS_BRAIN, HOLDS_TEAM } from './identity-rows.ts';
import { workspaceOfFamily, workspaceOfTeam } from './provision.ts';

/** $1 the team, $2 the same as names are compared, $3 the identity, $4 the workspace that is called like it. */
const CLAIM = `WITH own AS (SELECT t.id, t.folded, o.confirmed_at FROM habitat.teams t JOIN habitat.orgs o ON o.id = t.org
    WHERE o.owner = $3 OR EXISTS (SELECT 1 FROM habitat.assignments s WHERE s.team = t.id AND s.agent_id = $3))
  SELECT EXISTS (SELECT 1 FROM own WHERE id = $1) AS "isOwnId",
    EXISTS (SELECT 1 FROM own WHERE folded = $2 AND confirmed_at IS NOT NULL) AS "isOwnName",
    ARRAY(SELECT role FROM habitat.roles WHERE workspace_id = $4 AND user_id = $3) AS held,
    EXISTS (SELECT 1 FROM habitat.roles WHERE workspace_id = $4 AND user_id = $3 AND role = 'admin'
      AND source = 'operator') AS "isAppointed",
    (SELECT json_build_object('from', team_from) FROM habitat.agents
      WHERE agent_id = $3 AND team = $1 AND ${HOLDS_TEAM}) AS given`;

const NO_CLAIM: TeamClaim = { isOwnId: false, isOwnName: false, held: [], isAppointed: false, given: null };

async function readClaim(client: SqlClient, caller: Acting, team: string): Promise<TeamClaim> {
  const actor = actorOf(caller);
  const workspace = workspaceOfTeam(team);
  if (actor.identity === null) return NO_CLAIM;
  const [row] = await client.$queryRawUnsafe<TeamClaim[]>(CLAIM, team, foldCase(team), actor.identity, workspace);
  const claim = row ?? NO_CLAIM;
  return mayActIn(actor, workspace) ? claim : { ...claim, held: [], isAppointed: false };
}

export interface TeamPlace {
  readonly workspace: string;
  /** The spawner's family has it for itself. */
  readonly isFamilys: boolean;
  /** By whom row rules see the team; null = they do not. */
  readonly teamHeld: TeamHeld | null;
}

/** `family`: of the spawner; null = an operator. */
export async function placeInTeam(
  client: SqlClient,
  caller: Acting,
  family: string | null,
  team: string | undefined,
): Promise<TeamPlace> {
  if (team === undefined) return { workspace: workspaceOfTeam(), isFamilys: false, teamHeld: null };
  const actor = actorOf(caller);
  const claim = await readClaim(client, caller, team);
  const isShared = family === null || sharesTeamName(actor, claim);
  return {
    isFamilys: !isShared,
    workspace: isShared ? workspaceOfTeam(team) : workspaceOfFamily(team, family),
    teamHeld: passTeamOn(actor, claim),
  };
}

/** By whom row rules see the brain; null = they do not. `brainHome`: the workspace in which it is at home; null = in none. */
export async function holdBrain(
  client: SqlClient,
  caller: Acting,
  { brain, brainHome = null }: { readonly brain?: string | undefined; readonly brainHome?: string | null | undefined },
): Promise<BrainHeld | null> {
  if (brain === undefined) return null;
  const actor = actorOf(caller);
  const isHomeAdmin = brainHome !== null && (await holdsRole(client, caller, brainHome, 'admin'));
  const [given = null] = await client.$queryRawUnsafe<BrainHeld[]>(
    `SELECT brain_from AS "from", brain_home AS home FROM habitat.agents WHERE agent_id = $1 AND brain = $2 AND ${HOLDS_BRAIN}`,
    actor.identity,
    brain,
  );
  return passBrainOn(actor, given, isHomeAdmin ? brainHome : null);
}
