/** A second copy of the log, in files: it follows the log by itself, so that no event ever waits for a disk. */
import { setTimeout as sleep } from 'node:timers/promises';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { actorName } from '@svc/contract/actor.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { diskTroubleOf, diskTroubleText } from '@svc/runtime/disk-errors.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { repeatWhileWanted } from '@svc/runtime/turns.ts';
import type { AgoraStore } from '../agora-store.ts';
import type { SinkFiles } from './sink-file.ts';

interface SinkState {
  readonly enabled: boolean;
  readonly since: number | null;
  readonly file: string | null;
  readonly written: number;
  readonly dropped: number;
  readonly bytes: number;
  readonly lastAt: number | null;
}

export interface Switched extends Pick<SinkState, 'enabled' | 'file' | 'since'> {
  readonly changed: boolean;
}

export interface Sink {
  state(): Promise<SinkState>;
  /** From now on, or no longer. */
  switch(call: ChangeCall, enabled: boolean): Promise<Once<Switched, 'E_STATE_WRITE'>>;
  /** There may be something to copy. */
  kick(): void;
  close(): Promise<void>;
}

interface SinkParts {
  readonly store: AgoraStore;
  readonly files: SinkFiles;
  readonly platform: Pick<Platform, 'clock' | 'log'>;
  /** Whether this process copies. */
  readonly isMine: () => boolean;
}

const COPIED_AT_ONCE = 500;
/** How often somebody looks whether it was switched on. */
const LOOK_EVERY_MS = 1000;

const STATE = `enabled, ${epochMs('since')} AS since, file, written::float8 AS written, dropped::float8 AS dropped,
  bytes::float8 AS bytes, ${epochMs('last_at')} AS "lastAt"`;
const OFF: SinkState = { enabled: false, since: null, file: null, written: 0, dropped: 0, bytes: 0, lastAt: null };

export function createSink(parts: SinkParts): Sink {
  const { store, platform, isMine } = parts;
  let isOn = true;
  let closed = false;

  async function copyAll(): Promise<void> {
    try {
      while (isMine() && !closed) {
        const outcome = await copy(parts);
        isOn = outcome !== 'off';
        if (outcome !== 'more') return;
      }
    } catch (error) {
      platform.log.warn({ err: error }, 'the copy of the event log waits');
    }
  }

  const copying = repeatWhileWanted(copyAll, async () => {
    if (!isOn && !closed) await sleep(LOOK_EVERY_MS, undefined, { ref: false });
  });
  return {
    state: () => readState(store.client),
    switch: (call, enabled) => switched(parts, call, enabled),
    kick: copying.kick,
    async close() {
      closed = true;
      await copying.flush();
    },
  };
}

async function readState(client: SqlClient): Promise<SinkState> {
  const [state] = await client.$queryRawUnsafe<SinkState[]>(`SELECT ${STATE} FROM agora.log_sink`);
  return state ?? OFF;
}

async function switched(
  { store, files, platform }: SinkParts,
  call: ChangeCall,
  enabled: boolean,
): Promise<Once<Switched, 'E_STATE_WRITE'>> {
  const at = platform.clock.now();
  const file = enabled ? files.fileOf(at) : null;
  const trouble = enabled ? await troubleAt(files, at) : null;
  return store.change<Switched, 'E_STATE_WRITE'>(
    call,
    async ({ tx, emit, audit }): Promise<Decision<Switched, 'E_STATE_WRITE'>> => {
      if (trouble !== null) return deny('E_STATE_WRITE', { reason: trouble });
      await tx.$executeRawUnsafe('INSERT INTO agora.log_sink (one) VALUES (true) ON CONFLICT DO NOTHING');
      const changed = await tx.$queryRawUnsafe<object[]>(
        `UPDATE agora.log_sink SET enabled = $1, file = $2, since = CASE WHEN $1 THEN clock_timestamp() END,
         seq = (SELECT seq FROM agora.log_head)
       WHERE enabled <> $1 RETURNING one`,
        enabled,
        file,
      );
      const state = await readState(tx);
      const by = actorName(call.caller);
      if (changed.length > 0) {
        emit({ name: 'events:sink-changed', payload: { enabled, by } });
        audit({ event: 'events:sink-changed', workspace: null, data: { enabled, by } });
      }
      return allow({ enabled, file: state.file, since: state.since, changed: changed.length > 0 });
    },
  );
}

async function troubleAt(files: SinkFiles, at: number): Promise<string | null> {
  try {
    await files.assertWritable(at);
    return null;
  } catch (error) {
    const trouble = diskTroubleOf(error);
    return trouble === null ? 'the directory cannot be written' : diskTroubleText(trouble);
  }
}

interface Due {
  readonly enabled: boolean;
  readonly seq: string;
  readonly through: string | null;
  readonly lines: readonly string[];
}

async function copy({ store, files, platform }: SinkParts): Promise<'off' | 'more' | 'all'> {
  const [due] = await store.client.$queryRawUnsafe<Due[]>(
    `SELECT s.enabled, s.seq::text AS seq, max(e.seq)::text AS through,
       coalesce(array_agg(e.line ORDER BY e.seq) FILTER (WHERE e.seq IS NOT NULL), '{}') AS lines
     FROM agora.log_sink s LEFT JOIN LATERAL (
       SELECT seq, json_build_object('id', id, 'name', name, 'at', ${epochMs('at')}, 'node', node, 'module', module,
         'workspace', workspace, 'payload', payload)::text AS line
       FROM agora.event_log WHERE seq > s.seq ORDER BY seq LIMIT ${COPIED_AT_ONCE}
     ) e ON s.enabled GROUP BY s.one`,
  );
  if (due?.enabled !== true) return 'off';
  if (due.through === null) return 'all';
  const at = platform.clock.now();
  const { file, lines, bytes } = await files.append(at, due.lines).catch((error: unknown) => {
    platform.log.warn({ err: error }, 'the disk did not take events of the copy; they are left out');
    return { file: files.fileOf(at), lines: 0, bytes: 0 };
  });
  await store.client.$executeRawUnsafe(
    `UPDATE agora.log_sink SET seq = $2::bigint, file = $3, written = written + $4::int, dropped = dropped + $5::int,
       bytes = bytes + $6::int, last_at = CASE WHEN $4::int > 0 THEN ${timestampOf('$7')} ELSE last_at END
     WHERE enabled AND seq = $1::bigint`,
    due.seq,
    due.through,
    file,
    lines,
    due.lines.length - lines,
    bytes,
    at,
  );
  return due.lines.length === COPIED_AT_ONCE ? 'more' : 'all';
}
