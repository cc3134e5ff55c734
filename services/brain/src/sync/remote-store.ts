/** Remotes that operators named while the service runs. */
import type { BrainAnswer } from '@svc/contract/operations.brain.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';

/** `brain`: the only one that syncs with it, null = all. */
export type NamedRemote = BrainAnswer<'remotes'>['remotes'][number];
export type RemoteStore = ReturnType<typeof createRemoteStore>;

const SELECT = 'SELECT id, name, url, brain FROM brain.brain_remotes';
const lockNames = nameLock('brain');

export function createRemoteStore({ client, transact }: Pick<ServiceStore, 'client' | 'transact'>) {
  return {
    all: () => client.$queryRawUnsafe<NamedRemote[]>(`${SELECT} ORDER BY name`),
    /** Null = none has that name. */
    async find(name: string): Promise<NamedRemote | null> {
      return (await client.$queryRawUnsafe<NamedRemote[]>(`${SELECT} WHERE name = $1`, name))[0] ?? null;
    },
    /** The one that is there from now on. */
    keep: (wish: NamedRemote) =>
      transact<Decision<NamedRemote, 'E_REMOTE_TAKEN' | 'BRAIN_LOAD_FAIL'>>(async (tx) => {
        const { id, name, url, brain } = wish;
        await lockNames(tx, [`remote:${name}`]);
        const [present] = await tx.$queryRawUnsafe<NamedRemote[]>(`${SELECT} WHERE name = $1`, name);
        if (present !== undefined)
          return present.url === url && present.brain === brain ? allow(present) : deny('E_REMOTE_TAKEN', { name });
        // Whoever removes the brain waits for this, and then takes the remote along.
        const homes = 'SELECT brain FROM brain.brain_homes WHERE brain = $1 FOR SHARE';
        if (brain !== null && (await tx.$queryRawUnsafe<unknown[]>(homes, brain)).length === 0)
          return deny('BRAIN_LOAD_FAIL');
        await tx.$executeRawUnsafe(
          `INSERT INTO brain.brain_remotes (id, name, url, brain, created_at) VALUES ($1, $2, $3, $4, clock_timestamp())`,
          id,
          name,
          url,
          brain,
        );
        return allow(wish);
      }),
    /** By id or name; null = there is none. */
    async forget(named: string): Promise<Pick<NamedRemote, 'id' | 'name'> | null> {
      const sql = 'DELETE FROM brain.brain_remotes WHERE id = $1 OR name = $1 RETURNING id, name';
      const [gone = null] = await client.$queryRawUnsafe<Pick<NamedRemote, 'id' | 'name'>[]>(sql, named);
      return gone;
    },
  };
}
