/** Operations that somebody put together out of others, under a name in a workspace. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';
import type { BatchOperation } from './domain/pipeline.ts';

export type OperationSpec =
  | { readonly type: 'tool'; readonly tool: string; readonly args: Record<string, unknown> }
  | { readonly type: 'pipeline'; readonly steps: readonly BatchOperation[] };

interface OperationPlace {
  readonly workspace: string;
  readonly name: string;
}

interface NewOperation extends OperationPlace {
  readonly spec: OperationSpec;
  readonly owner: string;
  /** Under whom it is counted. */
  readonly family: string;
  /** Also what is another's. */
  readonly mayReplace: boolean;
  /** Of its family, who may not act there any more: where there is no room, the oldest of theirs makes some. */
  readonly gone: readonly string[];
}

export type OperationStore = ReturnType<typeof createOperationStore>;

/** Of a family in a workspace. */
const MAX_OPERATIONS = 100;

export function createOperationStore({ client, change, idempotency }: UniverseStore) {
  return {
    /** Whose operations leave their family no room; nobody's where there is some. */
    ownersWithoutRoom: (workspace: string, family: string): Promise<string[]> => readOwners(client, workspace, family),
    find: (place: OperationPlace) => readOperation(client, place),
    /** Returns whether it took the place of one. */
    put: (call: ChangeCall, wish: NewOperation) =>
      change<boolean, 'E_RECURSION_TAKEN' | 'E_QUOTA'>(call, async ({ tx }) => {
        const { workspace, family, owner, mayReplace } = wish;
        await lockWorkspace(tx, workspace);
        const known = await readOperation(tx, wish);
        if (known !== null && known.owner !== owner && !mayReplace) return deny('E_RECURSION_TAKEN');
        const isFull = known === null && (await countOperations(tx, workspace, family)) >= MAX_OPERATIONS;
        if (isFull && !(await deleteOldestOfGone(tx, wish))) {
          return deny('E_QUOTA', { limit: MAX_OPERATIONS });
        }
        await putOperation(tx, wish);
        return allow(known !== null);
      }),
    /** What was kept of a keyed call before, or what `work` says now: its effects are elsewhere. */
    async once<Value>(
      call: ChangeCall,
      scope: IdempotencyScope | null,
      work: () => Promise<{ readonly value: Value; readonly kept: Value }>,
    ): Promise<Once<Value, never>> {
      const known = await idempotency.find<Value, never>(client, scope);
      if (known !== null) return { decision: known, replayed: true };
      const { value, kept } = await work();
      const said = { decision: allow(value), replayed: false };
      if (scope === null) return said;
      const stored = await change<Value, never>(call, async () => allow(kept));
      return stored.replayed ? stored : said;
    },
  };
}

async function lockWorkspace(tx: SqlClient, workspace: string): Promise<void> {
  const lock = `SELECT pg_advisory_xact_lock(hashtextextended('universe.operations ' || $1, 0))::text`;
  await tx.$queryRawUnsafe(lock, workspace);
}

interface OperationRow {
  readonly owner: string;
  readonly spec: OperationSpec;
}

async function readOperation(client: SqlClient, { workspace, name }: OperationPlace): Promise<OperationRow | null> {
  const [row] = await client.$queryRawUnsafe<OperationRow[]>(
    'SELECT owner, spec FROM universe.operations WHERE workspace = $1 AND name = $2',
    workspace,
    name,
  );
  return row ?? null;
}

async function countOperations(tx: SqlClient, workspace: string, family: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
    'SELECT count(*)::float8 AS count FROM universe.operations WHERE workspace = $1 AND family = $2',
    workspace,
    family,
  );
  return row?.count ?? 0;
}

async function readOwners(client: SqlClient, workspace: string, family: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ owner: string }[]>(
    `SELECT owner FROM (
       SELECT owner, count(*) OVER () AS operations FROM universe.operations WHERE workspace = $1 AND family = $2) o
     WHERE operations >= ${MAX_OPERATIONS} GROUP BY owner`,
    workspace,
    family,
  );
  return rows.map(({ owner }) => owner);
}

/** False = there was none. */
async function deleteOldestOfGone(tx: SqlClient, { workspace, family, gone }: NewOperation): Promise<boolean> {
  const deleted = await tx.$executeRawUnsafe(
    `DELETE FROM universe.operations WHERE workspace = $1 AND name = (
       SELECT name FROM universe.operations WHERE workspace = $1 AND family = $2 AND owner = ANY($3::text[])
       ORDER BY created_at, name LIMIT 1)`,
    workspace,
    family,
    gone,
  );
  return deleted > 0;
}

async function putOperation(tx: SqlClient, { workspace, name, owner, family, spec }: NewOperation): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO universe.operations (workspace, name, owner, family, type, spec, created_at)
     VALUES ($1, $2, $3, $4, $5, $6::json, clock_timestamp())
     ON CONFLICT (workspace, name) DO UPDATE SET owner = excluded.owner, family = excluded.family,
       type = excluded.type, spec = excluded.spec, created_at = excluded.created_at`,
    workspace,
    name,
    owner,
    family,
    spec.type,
    JSON.stringify(spec),
  );
}
