/**
 * What the callers of keyed calls were told, word for word. Under a key there is the outcome, stored with its effect; the
 * reply is made of it and of what the session, the clock and other rows say at that moment, so that one made again later
 * could tell of another branch or workspace than the one in which the effect took place.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { SqlClient } from './database.ts';
import { IDEMPOTENCY_KEPT_SINCE, idempotencyId } from './idempotency.ts';

export interface KeptReply {
  /** JSON. */
  readonly body: string;
  /** Code of the refusal that it tells; null = it tells of success. */
  readonly refusal: string | null;
}

export interface KeptReplies {
  /**
   * Soon, and only where that is the outcome under the key: what is judged before, and refused, is none. What is lost by
   * a crash, or by a database that is away, is made again.
   */
  keep(scope: IdempotencyScope, reply: KeptReply): void;
  /** That to the same key and arguments; null = none was kept. */
  find(scope: IdempotencyScope): Promise<KeptReply | null>;
  /** Keeps at once what is still to be kept. */
  close(): Promise<void>;
}

interface Waiting {
  readonly scope: IdempotencyScope;
  readonly reply: KeptReply;
}

/** Of a key that has an outcome. */
interface StoredReply {
  /** Of the outcome, when that is a refusal. */
  readonly code: string | null;
  readonly body: string | null;
  readonly refusal: string | null;
}

/** Longer ones are made again: an outcome is short, and so is nearly every reply. */
const MOST_CHARACTERS = 16_384;
/** One statement for those of so long: the repeats that it is for come later than that. */
const GATHER_MS = 250;

/** `schema` is the service's own; its migrations create the table. */
export function createKeptReplies(schema: string, client: SqlClient): KeptReplies {
  const { keepAll, find } = statementsOn(schema);
  const waiting = new Map<string, Waiting>();
  const closing = new AbortController();
  let writing = Promise.resolve();

  async function writeAll(): Promise<void> {
    while (waiting.size > 0) {
      await sleep(GATHER_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      const some = [...waiting.values()];
      await client.$executeRawUnsafe(keepAll, ...columnsOf(some)).catch(() => undefined);
      // Until now they were known here, and from now on there.
      for (const one of some) {
        const id = idempotencyId(one.scope);
        if (waiting.get(id) === one) waiting.delete(id);
      }
    }
  }

  return {
    keep(scope, reply) {
      if (reply.body.length > MOST_CHARACTERS) return;
      const isFirst = waiting.size === 0;
      waiting.set(idempotencyId(scope), { scope, reply });
      if (isFirst) writing = writeAll();
    },
    async find(scope) {
      const { principal, tool, key, argsHash } = scope;
      const [row] = await client.$queryRawUnsafe<StoredReply[]>(find, principal, tool, key, argsHash);
      if (row === undefined) return null;
      const { code, body, refusal } = row;
      if (body !== null) return { body, refusal };
      const mine = waiting.get(idempotencyId(scope))?.reply ?? null;
      return mine?.refusal === code ? mine : null;
    },
    async close() {
      closing.abort();
      await writing;
    },
  };
}

type Columns = [string[], string[], string[], string[], string[], (string | null)[]];

function columnsOf(some: readonly Waiting[]): Columns {
  return [
    some.map(({ scope }) => scope.principal),
    some.map(({ scope }) => scope.tool),
    some.map(({ scope }) => scope.key),
    some.map(({ scope }) => scope.argsHash),
    some.map(({ reply }) => reply.body),
    some.map(({ reply }) => reply.refusal),
  ];
}

/**
 * Of the outcome, when that is a refusal. PostgreSQL reads no member of JSON in which somewhere a NUL, or half a surrogate
 * pair, is written; in its place stands what is as long, so that the escape of a backslash before it stays one.
 */
const CODE = String.raw`regexp_replace(outcome::text, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'g')::json->>'code'`;

function statementsOn(schema: string) {
  const table = `"${schema}".idempotency`;
  // Nobody waits for the disk: what is lost is made again.
  const keepAll = `WITH soon AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE ${table} AS t SET reply = r.reply, refusal = r.refusal
    FROM soon, unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
      AS r (principal, tool, key, args_hash, reply, refusal)
    WHERE (t.principal, t.tool, t.key, t.args_hash) = (r.principal, r.tool, r.key, r.args_hash)
      AND t.outcome IS NOT NULL AND ${CODE} IS NOT DISTINCT FROM r.refusal`;
  const find = `SELECT ${CODE} AS code, reply AS body, refusal FROM ${table}
    WHERE principal = $1 AND tool = $2 AND key = $3 AND args_hash = $4 AND outcome IS NOT NULL
      AND at >= ${IDEMPOTENCY_KEPT_SINCE}`;
  return { keepAll, find };
}
