/** What a context tells beside files, in one statement: whoever asks again for what is known waits for nothing else. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { lastInsightsOf } from '../evolution/evolution-rows.ts';
import { attentionOf } from '../relations/relation-rows.ts';

interface BesideFiles {
  /** Who holds the brain; an expired lease is nobody's. */
  readonly heldBy: string | null;
  /** JSON, equal as long as nothing of it has changed; null = nothing. */
  readonly attended: string | null;
  readonly learned: string | null;
}

interface Asked {
  readonly brain: string;
  readonly brainId: string;
  /** Empty = of those who are in none. */
  readonly workspace: string;
  /** How many of them are told. */
  readonly insights: number;
}

const SELECT = `SELECT CASE WHEN l.expires_at > clock_timestamp() THEN l.agent_id END AS "heldBy",
    (SELECT json_agg(a)::text FROM (${attentionOf('$2', '$3')}) a) AS attended,
    (SELECT json_agg(i.text)::text FROM (${lastInsightsOf('$2', '$3', '$4')}) i) AS learned
  FROM brain.brain_leases l WHERE l.brain = $1`;

export async function readBesideFiles(client: SqlClient, asked: Asked): Promise<BesideFiles> {
  const { brain, brainId, workspace, insights } = asked;
  const [row] = await client.$queryRawUnsafe<BesideFiles[]>(SELECT, brain, brainId, workspace, insights);
  if (row === undefined) throw new Error(`brain ${brain} has no lease row`);
  return row;
}
