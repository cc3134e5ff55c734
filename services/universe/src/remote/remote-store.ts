/** Other nodes and git remotes: added, found, removed. */
import { allow, deny } from '@svc/contract/decision.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';
import { isSameRemote, type Remote, type RemoteWish } from './domain/remote.ts';

export type RemoteStore = ReturnType<typeof createRemoteStore>;

const REMOTE = `remote_id AS id, type, name, url, token_ref AS "tokenRef", insecure, ${epochMs('created_at')} AS "createdAt"`;
const FOUND = `SELECT ${REMOTE} FROM universe.remotes WHERE remote_id = $1 OR name = $1`;

const lockNames = nameLock('universe');

/** Among what is outside. */
export function connectorOf({ name }: Pick<Remote, 'name'>): string {
  return `remote:${name}`;
}

export function createRemoteStore({ client, change }: Pick<UniverseStore, 'client' | 'change'>) {
  return {
    all: () => client.$queryRawUnsafe<Remote[]>(`SELECT ${REMOTE} FROM universe.remotes ORDER BY name`),
    /** By id or name; null = none. */
    async find(named: string): Promise<Remote | null> {
      return (await client.$queryRawUnsafe<Remote[]>(FOUND, named))[0] ?? null;
    },
    /** The same among nodes. */
    async node(named: string): Promise<Remote | null> {
      const sql = `SELECT ${REMOTE} FROM universe.remotes WHERE (remote_id = $1 OR name = $1) AND type = 'node'`;
      return (await client.$queryRawUnsafe<Remote[]>(sql, named))[0] ?? null;
    },
    add: (call: ChangeCall, wish: RemoteWish, by: string) =>
      change<Remote, 'E_REMOTE_TAKEN'>(call, async ({ tx, emit, audit }) => {
        await lockNames(tx, [`remote:${wish.name}`]);
        const [present] = await tx.$queryRawUnsafe<Remote[]>(FOUND, wish.name);
        if (present !== undefined) return isSameRemote(present, wish) ? allow(present) : deny('E_REMOTE_TAKEN');
        const [added] = await tx.$queryRawUnsafe<Remote[]>(
          `INSERT INTO universe.remotes (remote_id, type, name, url, token_ref, insecure, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp()) RETURNING ${REMOTE}`,
          wish.id,
          wish.type,
          wish.name,
          wish.url,
          wish.tokenRef,
          wish.insecure,
        );
        if (added === undefined) throw new Error('a new remote has no row');
        emit({ name: 'remote:added', payload: { by, id: added.id, name: added.name, type: added.type } });
        audit({ event: 'remote:added', workspace: null, data: { name: added.name, by } });
        return allow(added);
      }),
    /** `left`: what had no row here, and is gone all the same. */
    remove: (call: ChangeCall, named: string, by: string, left: Pick<Remote, 'id' | 'name'> | null) =>
      change<string, 'E_REMOTE_ABSENT'>(call, async ({ tx, emit, audit }) => {
        const [row] = await tx.$queryRawUnsafe<Remote[]>(
          `DELETE FROM universe.remotes WHERE remote_id = $1 OR name = $1 RETURNING ${REMOTE}`,
          named,
        );
        const gone = row ?? left;
        if (gone === null) return deny('E_REMOTE_ABSENT');
        await tx.$executeRawUnsafe('DELETE FROM universe.contacts WHERE connector = $1', connectorOf(gone));
        emit({ name: 'remote:removed', payload: { by, id: gone.id, name: gone.name } });
        audit({ event: 'remote:removed', workspace: null, data: { name: gone.name, by } });
        return allow(gone.id);
      }),
  };
}
