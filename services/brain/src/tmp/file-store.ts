/** Temporary files as rows. What is past its time, by the clock of the database, is not there any more, swept or not. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Position } from '@svc/runtime/paging.ts';
import { epochMs, NOW_AS_KEPT, timestampOf } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { confusedPath } from '../blocked-path.ts';
import { lockNames } from '../store/name-lock.ts';
import { type Amount, decideRoom, type Use } from './domain/quota.ts';
import {
  hearersOf,
  type Held,
  isKeeper,
  mayDelete,
  mayReplace,
  type Member,
  ownerOf,
  ownersSeen,
  type Space,
  WORKSPACE_OWNS,
} from './domain/space.ts';

/** `at` and `expiresAt` in ms since the epoch. */
export interface ListedFile extends Held {
  readonly name: string;
  readonly bytes: number;
  readonly hash: string;
  readonly at: number;
  readonly expiresAt: number;
}

interface TmpFile extends ListedFile {
  readonly content: string;
}

export interface NewFile {
  readonly space: Space;
  readonly name: string;
  readonly content: string;
  readonly ttlMs: number;
  /** For whom it is meant; null = for everybody. `isKnown`: it holds a role in the workspace. */
  readonly to: { readonly agent: string; readonly isKnown: boolean } | null;
}

export type Stored = Pick<ListedFile, 'bytes' | 'hash' | 'expiresAt'>;

export const IS_LIVE = 'expires_at > clock_timestamp()';
const LISTED = `name, owner, "by", bytes, hash, ${epochMs('at')} AS at, ${epochMs('expires_at')} AS "expiresAt"`;
/** `$1` workspace, `$2` space, `$3` owners whose files are seen, `$4` who looks. */
const SEEN = `workspace = $1 AND space = $2 AND (owner = ANY($3::text[]) OR (space = 'yourStuff' AND "by" = $4))
  AND ${IS_LIVE}`;
/** No name holds a slash; equal names are told apart by whose they are. */
const PLACE = `(name || '/' || owner) COLLATE "C"`;

const PUT = `
  INSERT INTO brain.tmp_files (workspace, space, owner, slot, name, content, bytes, hash, "by", family, at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${timestampOf('$11')}, ${timestampOf('$12')})
  ON CONFLICT (workspace, space, owner, slot) DO UPDATE SET name = excluded.name, content = excluded.content,
    bytes = excluded.bytes, hash = excluded.hash, "by" = excluded."by", family = excluded.family,
    at = excluded.at, expires_at = excluded.expires_at`;

export class TmpFiles {
  readonly #store: ServiceStore;

  constructor(store: ServiceStore) {
    this.#store = store;
  }

  /** Throws FORBIDDEN where another's file lies that the member may not replace, VAF_PATH_BLOCKED beside a like name. */
  put(call: ChangeCall, member: Member, file: NewFile): Promise<Once<Stored, 'E_QUOTA' | 'AGENT_NOT_FOUND'>> {
    const { workspace, actor, family } = member;
    const { space, name, content, to } = file;
    const owner = ownerOf(space, member, to?.agent ?? null);
    const slot = slotOf(name);
    const said = { bytes: Buffer.byteLength(content), hash: hash('sha256', content, 'hex') };
    const put = async ({ tx, emit, lastly }: Unit): Promise<Decision<Stored, 'E_QUOTA' | 'AGENT_NOT_FOUND'>> => {
      if (to?.isKnown === false) return deny('AGENT_NOT_FOUND');
      const key = { workspace, space, owner, slot };
      // They go out together, and each sees what was there when the lock was had.
      const [, present, { use, now }] = await Promise.all([
        lockNames(tx, [`tmp:${workspace}/${space}/${owner}`, ...(family === null ? [] : [`tmp of ${family}`])]),
        readPresent(tx, key),
        readUse(tx, key, family),
      ]);
      if (present !== null && !mayReplace(present, member))
        throw new CallError(
          'FORBIDDEN',
          'Somebody else put a file of that name there; editors of the workspace may replace it.',
        );
      if (present !== null && present.name !== name) throw confusedPath(name, present.name);
      const room = decideRoom(use, said.bytes);
      if (!room.ok) return room;
      const expiresAt = now + file.ttlMs;
      const contents = [name, content, said.bytes, said.hash, actor, family];
      lastly({ sql: PUT, values: [workspace, space, owner, slot, ...contents, now, expiresAt] });
      const parties = hearersOf(member, { owner, by: actor });
      emit({ name: 'tmp:put', payload: { workspace, space, name, by: actor, expiresAt, parties } });
      return allow({ ...said, expiresAt });
    };
    return this.#store.change(call, put, { readsFirst: true });
  }

  /** Of several that the member sees under the name: what it was handed, then everybody's, then what it handed over last. */
  async read(member: Member, space: Space, name: string): Promise<Decision<TmpFile, 'E_TMP_ABSENT'>> {
    const file = await readSeen(this.#store.client, member, { space, name });
    return file === null ? deny('E_TMP_ABSENT', { name, space }) : allow(file);
  }

  /** False when the member sees none of that name. Throws FORBIDDEN when it sees one that is not its to delete. */
  delete(call: ChangeCall, member: Member, space: Space, name: string): Promise<Once<boolean, never>> {
    const { workspace, actor } = member;
    return this.#store.change(call, async ({ tx, emit }) => {
      const file = await readSeen(tx, member, { space, name }, 'FOR UPDATE');
      if (file === null) return allow(false);
      if (!mayDelete(file, member))
        throw new CallError(
          'FORBIDDEN',
          'Deleted is what one put there or was handed; in the dropbox, editors of the workspace delete all.',
        );
      await tx.$executeRawUnsafe(
        'DELETE FROM brain.tmp_files WHERE workspace = $1 AND space = $2 AND owner = $3 AND slot = $4',
        workspace,
        space,
        file.owner,
        slotOf(name),
      );
      emit({
        name: 'tmp:deleted',
        payload: { workspace, space, name, by: actor, parties: hearersOf(member, file) },
      });
      return allow(true);
    });
  }

  /** In order of names; a row more than `limit` when there are more. */
  list(member: Member, space: Space, { limit, after }: Position): Promise<ListedFile[]> {
    return this.#store.client.$queryRawUnsafe<ListedFile[]>(
      `SELECT ${LISTED} FROM brain.tmp_files WHERE ${SEEN} AND ($5::text IS NULL OR ${PLACE} > $5)
       ORDER BY ${PLACE} LIMIT $6`,
      ...seenBy(member, space),
      after,
      limit + 1,
    );
  }

  async measure(member: Member, space: Space): Promise<Amount> {
    const [row] = await this.#store.client.$queryRawUnsafe<Amount[]>(
      `SELECT count(*)::int AS files, coalesce(sum(bytes), 0)::double precision AS bytes FROM brain.tmp_files WHERE ${SEEN}`,
      ...seenBy(member, space),
    );
    return row ?? NOTHING;
  }

  /** What the member put into the space of all; whoever keeps the workspace clears everything. Returns how many. */
  clear(call: ChangeCall, member: Member, space: 'dropbox'): Promise<Once<number, never>> {
    const { workspace, actor } = member;
    return this.#store.change(call, async ({ tx, emit }) => {
      const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
        `WITH gone AS (DELETE FROM brain.tmp_files WHERE workspace = $1 AND space = $2 AND ($3 OR "by" = $4)
           RETURNING expires_at)
         SELECT count(*) FILTER (WHERE ${IS_LIVE})::int AS count FROM gone`,
        workspace,
        space,
        isKeeper(member),
        actor,
      );
      const { count } = row ?? { count: 0 };
      const parties = hearersOf(member, { owner: WORKSPACE_OWNS, by: actor });
      if (count > 0) emit({ name: 'tmp:cleared', payload: { workspace, space, count, by: actor, parties } });
      return allow(count);
    });
  }
}

const NOTHING: Amount = { files: 0, bytes: 0 };

/** Equal for names that some file systems take for one another. */
function slotOf(name: string): string {
  return hash('sha256', foldCase(name), 'base64url');
}

function seenBy(member: Member, space: Space): unknown[] {
  return [member.workspace, space, ownersSeen(space, member), member.actor];
}

interface Slot {
  readonly workspace: string;
  readonly space: Space;
  readonly owner: string;
  readonly slot: string;
}

async function readPresent(tx: SqlClient, key: Slot): Promise<(Held & { readonly name: string }) | null> {
  const { workspace, space, owner, slot } = key;
  const rows = await tx.$queryRawUnsafe<(Held & { name: string })[]>(
    `SELECT name, owner, "by" FROM brain.tmp_files
     WHERE workspace = $1 AND space = $2 AND owner = $3 AND slot = $4 AND ${IS_LIVE}`,
    workspace,
    space,
    owner,
    slot,
  );
  return rows[0] ?? null;
}

/** Without what lies in the slot. `now`: the clock by which it is live, in ms since the epoch. */
async function readUse(
  tx: SqlClient,
  { workspace, space, owner, slot }: Slot,
  family: string | null,
): Promise<{ readonly use: Use; readonly now: number }> {
  const isThere = 'workspace = $1 AND space = $2 AND owner = $3';
  const amount = 'count(*)::int AS files, coalesce(sum(bytes), 0)::double precision AS bytes';
  const rows = await tx.$queryRawUnsafe<(Amount & { readonly of: keyof Use; readonly now: number })[]>(
    `SELECT 'owner' AS of, ${amount}, ${epochMs(NOW_AS_KEPT)} AS now
     FROM brain.tmp_files WHERE ${isThere} AND slot <> $4 AND ${IS_LIVE}
     UNION ALL
     SELECT 'family', ${amount}, ${epochMs(NOW_AS_KEPT)}
     FROM brain.tmp_files WHERE family = $5 AND NOT (${isThere} AND slot = $4) AND ${IS_LIVE}`,
    workspace,
    space,
    owner,
    slot,
    family,
  );
  const rowOf = (wanted: keyof Use) => {
    const row = rows.find(({ of }) => of === wanted);
    if (row === undefined) throw new Error(`nothing was counted for ${wanted}`);
    return row;
  };
  const owned = rowOf('owner');
  return { use: { owner: owned, family: rowOf('family') }, now: owned.now };
}

interface Named {
  readonly space: Space;
  readonly name: string;
}

async function readSeen(
  client: SqlClient,
  member: Member,
  { space, name }: Named,
  lock: 'FOR UPDATE' | '' = '',
): Promise<TmpFile | null> {
  const rows = await client.$queryRawUnsafe<TmpFile[]>(
    `SELECT ${LISTED}, content FROM brain.tmp_files WHERE ${SEEN} AND slot = $5 AND name = $6
     ORDER BY array_position($3::text[], owner), at DESC LIMIT 1 ${lock}`,
    ...seenBy(member, space),
    slotOf(name),
    name,
  );
  return rows[0] ?? null;
}
