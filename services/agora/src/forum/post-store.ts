/** Posts, and who is there. */
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { type Handover, onceOfHandover } from '../handover.ts';
import type { Tenancy } from './tenancy.ts';

type AgoraEvent = EventIn<typeof AGORA_EVENTS>;
type Work = Pick<Unit<AgoraEvent>, 'tx' | 'emit'>;

export interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly workspace: string | null;
  readonly authorAgentId: string | null;
  readonly createdAt: number;
}

type NewPost = Omit<PostRow, 'id' | 'createdAt'> & { readonly family: string | null };

/** Posts of one family; those of nobody count as those of one. */
export const MAX_POSTS = 10_000;
/** A page has no more content than this beyond its first post. */
const PAGE_BYTES = 1024 * 1024;
const NOBODY = '';

export type PostStore = ReturnType<typeof createPostStore>;
type Seen = Pick<Tenancy, 'workspaces'>;

export function createPostStore({ client, change }: ServiceStore<AgoraEvent>, ids: Ids) {
  return {
    publish: (call: ChangeCall, wish: NewPost): Promise<Once<PostRow, 'E_QUOTA'>> =>
      change(call, (unit) => publish(unit, ids.next('pub'), wish)),
    /** What another service announces; sent again it is the same post. */
    async announce(call: ChangeCall, handover: Handover, wish: NewPost): Promise<{ readonly id: string }> {
      const { decision } = await change(call, (unit) =>
        onceOfHandover(unit.tx, handover, async () => ({ id: (await write(unit, ids.next('pub'), wish)).id })),
      );
      if (!decision.ok) throw new Error('a hand-over is not refused');
      return decision.value;
    },
    async post(seen: Seen, id: string): Promise<PostRow | null> {
      const [row] = await client.$queryRawUnsafe<PostRow[]>(
        `SELECT ${SHOWN} FROM agora.posts WHERE ${VISIBLE} AND id = $2`,
        seen.workspaces,
        id,
      );
      return row ?? null;
    },
    /** Which of them there are. */
    async known(seen: Seen, ids: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await client.$queryRawUnsafe<{ id: string }[]>(
        `SELECT id FROM agora.posts WHERE ${VISIBLE} AND id = ANY($2::text[])`,
        seen.workspaces,
        ids,
      );
      return new Set(rows.map(({ id }) => id));
    },
    posts: (seen: Seen, page: PostPage) => readPosts(client, seen, page),
    counts: (seen: Seen, tag: string | null) => countPosts(client, seen, tag),
  };
}

async function publish(unit: Work, id: string, wish: NewPost): Promise<Decision<PostRow, 'E_QUOTA'>> {
  const post = await write(unit, id, wish);
  const [row] = await unit.tx.$queryRawUnsafe<{ posts: number }[]>(
    'SELECT count(*)::int AS posts FROM agora.posts WHERE family = $1',
    wish.family ?? NOBODY,
  );
  return (row?.posts ?? 0) > MAX_POSTS ? deny('E_QUOTA', { limit: MAX_POSTS }) : allow(post);
}

async function write({ tx, emit }: Work, id: string, wish: NewPost): Promise<PostRow> {
  const { title, content, tags, workspace, authorAgentId, family } = wish;
  const [post] = await tx.$queryRawUnsafe<PostRow[]>(
    `INSERT INTO agora.posts (id, title, content, tags, workspace, author, family, created_at)
     VALUES ($1, $2, $3, $4::text[], $5, $6, $7, clock_timestamp()) RETURNING ${SHOWN}`,
    id,
    title,
    content,
    tags,
    workspace,
    authorAgentId,
    family ?? NOBODY,
  );
  if (post === undefined) throw new Error('a post that was not stored');
  emit({
    name: 'forum:published',
    ...(workspace === null ? {} : { workspace }),
    payload: { publicationId: id, authorAgentId, title, parties: [workspace === null ? '*' : `ws:${workspace}`] },
  });
  return post;
}

const SHOWN = `id, title, content, tags, workspace, author AS "authorAgentId", ${epochMs('created_at')} AS "createdAt"`;
/** Parameter $1: the workspaces of who looks. One rule for all that is read. */
const VISIBLE = '(workspace IS NULL OR workspace = ANY($1::text[]))';
const TAGGED = '($2::text IS NULL OR tags @> ARRAY[$2::text])';

interface PostPage {
  readonly tag: string | null;
  /** Id of the last post of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

/** The newest first. `more`: there are older ones. */
export async function readPosts(
  client: SqlClient,
  { workspaces }: Seen,
  { tag, after, limit }: PostPage,
): Promise<{ readonly posts: readonly PostRow[]; readonly more: boolean }> {
  const rows = await client.$queryRawUnsafe<(PostRow & { fits: boolean })[]>(
    `SELECT *, sum(octet_length(content)) OVER (ORDER BY id DESC) - octet_length(content) <= ${PAGE_BYTES} AS fits
     FROM (SELECT ${SHOWN} FROM agora.posts WHERE ${VISIBLE} AND ${TAGGED} AND ($3::text IS NULL OR id < $3)
       ORDER BY id DESC LIMIT $4) page ORDER BY id DESC`,
    workspaces,
    tag,
    after,
    limit + 1,
  );
  const posts = rows.filter(({ fits }) => fits).slice(0, limit);
  return { posts: posts.map(({ fits: _fits, ...post }) => post), more: rows.length > posts.length };
}

async function countPosts(
  client: SqlClient,
  { workspaces }: Seen,
  tag: string | null,
): Promise<{ readonly visible: number; readonly total: number }> {
  const [row] = await client.$queryRawUnsafe<{ visible: number; total: number }[]>(
    `SELECT count(*) FILTER (WHERE ${TAGGED})::int AS visible, count(*)::int AS total FROM agora.posts WHERE ${VISIBLE}`,
    workspaces,
    tag,
  );
  return row ?? { visible: 0, total: 0 };
}
