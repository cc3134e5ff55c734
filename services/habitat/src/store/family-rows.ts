/** Families as rows: each agent's row tells its root and who is above it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import { type Placed, type RoleSource, sourceOfGift } from '../domain/family.ts';

/** Where an identity stands, also a killed agent; who is no agent stands alone. */
export async function readPlaced(client: SqlClient, id: string): Promise<Placed> {
  const [row] = await client.$queryRawUnsafe<Placed[]>(
    `SELECT agent_id AS id, coalesce(family, agent_id) AS family, coalesce(ancestors, '{}') AS ancestors
     FROM habitat.agents WHERE agent_id = $1`,
    id,
  );
  return row ?? { id, family: id, ancestors: [] };
}

/** Condition that `column` names one of the family that a parameter of the statement is. */
export const OF_FAMILY = (column: string, family: string) =>
  `(${column} = ${family} OR ${column} IN (SELECT agent_id FROM habitat.agents WHERE family = ${family}))`;

export async function readSource(
  client: SqlClient,
  { name, operator }: Pick<Actor, 'name' | 'operator'>,
  userId: string,
): Promise<RoleSource> {
  if (operator) return 'operator';
  return sourceOfGift(await readPlaced(client, name), await readPlaced(client, userId));
}

/** From here on the agent is the root of a family, with those who came after it. Nothing changes for who is one already. */
export async function partFamily(tx: SqlClient, agentId: string): Promise<void> {
  const { family } = await readPlaced(tx, agentId);
  if (family === agentId) return;
  await tx.$executeRawUnsafe(
    `UPDATE habitat.agents SET family = $1 WHERE family = $2 AND (agent_id = $1 OR $1 = ANY(ancestors))`,
    agentId,
    family,
  );
}
