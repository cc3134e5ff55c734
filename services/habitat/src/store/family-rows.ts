/** Families as rows: each agent's row tells its root and who is above it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import { type Placed, type RoleSource, sourceOfGift } from '../domain/family.ts';

const PLACED = `SELECT agent_id AS id, coalesce(family, agent_id) AS family, coalesce(ancestors, '{}') AS ancestors
  FROM habitat.agents`;
const alone = (id: string): Placed => ({ id, family: id, ancestors: [] });

/** Where an identity stands, also a killed agent; who is no agent stands alone. */
export async function readPlaced(client: SqlClient, id: string): Promise<Placed> {
  const [row] = await client.$queryRawUnsafe<Placed[]>(`${PLACED} WHERE agent_id = $1`, id);
  return row ?? alone(id);
}

/** The same of two, which may be one. */
export async function readBothPlaced(client: SqlClient, one: string, other: string): Promise<[Placed, Placed]> {
  const rows = await client.$queryRawUnsafe<Placed[]>(`${PLACED} WHERE agent_id IN ($1, $2)`, one, other);
  const of = (id: string): Placed => rows.find((row) => row.id === id) ?? alone(id);
  return [of(one), of(other)];
}

/** The same of many, by their ids. */
export async function readAllPlaced(client: SqlClient, ids: readonly string[]): Promise<(id: string) => Placed> {
  const rows = await client.$queryRawUnsafe<Placed[]>(`${PLACED} WHERE agent_id = ANY($1::text[])`, ids);
  const placed = new Map(rows.map((row) => [row.id, row]));
  return (id) => placed.get(id) ?? alone(id);
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
