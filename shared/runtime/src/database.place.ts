/** Which database of a cluster this is, and who else of the role works on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { StartProblem } from './start-problem.ts';

const LOOK_EVERY_MS = 250;
/** Connections of a process that was killed right before are there for a moment. */
const LOOKS = 10;

/** A copy that was restored from a dump is another one. Null while it does not answer. */
export async function readDatabaseId({ pool }: Pick<Database, 'pool'>): Promise<string | null> {
  const { rows } = await pool
    .query<{ id: string }>(
      `SELECT concat_ws('/', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS id
       FROM pg_control_system()`,
    )
    .catch(() => ({ rows: [] }));
  return rows[0]?.id ?? null;
}

interface Speaker {
  /** What its connections are called: `<cluster>-<role>/<node>@<deployment>`, as much as PostgreSQL keeps of it. */
  readonly application: string;
  readonly role: string;
  readonly deployment: string | null;
}

/**
 * Throws StartProblem when others of the role work on this database who speak under another name on the bus: they would
 * take work, and nobody would hear what they say of it. Older versions do not tell theirs.
 */
export async function agreeOnName(database: Pick<Database, 'pool'>, speaker: Speaker): Promise<void> {
  let unheard = await readUnheard(database, speaker);
  for (let look = 1; unheard.length > 0 && look < LOOKS; look += 1) {
    await sleep(LOOK_EVERY_MS);
    unheard = await readUnheard(database, speaker);
  }
  if (unheard.length === 0) return;
  const { role, deployment } = speaker;
  throw new StartProblem(
    `SVC_NODE_NAME: ${unheard.join(', ')}, running ${role} on this database, speaks under another name than ${deployment ?? 'none'}, so neither would hear the other: all processes have the same`,
  );
}

async function readUnheard({ pool }: Pick<Database, 'pool'>, { application }: Speaker): Promise<string[]> {
  const { rows } = await pool.query<{ node: string }>(
    `SELECT DISTINCT substring(application_name FROM '/(.*)@') AS node FROM pg_stat_activity
     WHERE datname = current_database() AND starts_with(application_name, $1)
       AND substring(application_name FROM '@([^@]*)$') <> $2 ORDER BY node`,
    [application.slice(0, application.indexOf('/') + 1), application.slice(application.lastIndexOf('@') + 1)],
  );
  return rows.map(({ node }) => node);
}
