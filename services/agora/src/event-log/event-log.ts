/** The log of what all services tell: who fills it, who reads it, its copy in files, and its upkeep. */
import { join, resolve } from 'node:path';
import { readEventPage } from '@svc/runtime/event-feed.ts';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { AgoraStore } from '../agora-store.ts';
import { startLogConsumer } from './consumer.ts';
import { createListeners } from './listeners.ts';
import { createLogPages } from './log-pages.ts';
import { createLogRows, type LogPosition, type LogRows, type LogState } from './log-rows.ts';
import { createLogReader, type LogReader } from './reader.ts';
import { createPlaceSeal, type PlaceSeal } from './sealed-place.ts';
import { createSink, type Sink } from './sink.ts';
import { createSinkFiles } from './sink-file.ts';

/** `lagMs`: age of the oldest event that it does not have yet. `lost`: events that their service did not keep until then. */
interface LogStanding extends LogState {
  readonly lagMs: number;
  readonly lost: number;
}

export interface EventLog extends Pick<LogReader, 'tail'>, Pick<PlaceSeal, 'open'> {
  readonly sink: Pick<Sink, 'state' | 'switch'>;
  standing(): Promise<LogStanding>;
}

interface OpenEventLog {
  readonly eventLog: EventLog;
  readonly jobs: readonly JobDeclaration[];
  close(): Promise<void>;
}

const SWEEP_MS = 600_000;

export async function openEventLog(platform: Platform, store: AgoraStore): Promise<OpenEventLog> {
  const { config } = platform;
  const rows = createLogRows(store.client);
  const seal = createPlaceSeal(await rows.secret());
  const sink = createSink({
    store,
    platform,
    files: createSinkFiles(join(resolve(config.SVC_DATA_DIR), 'events')),
    isMine: () => consumer.isWriting(),
  });
  const consumer = startLogConsumer({ platform, rows, onAppended: sink.kick });
  const listeners = createListeners(platform);
  const reader = createLogReader({ platform, pages: createLogPages(store.client), rows, listeners, seal });
  measureLost(platform, rows);
  return {
    eventLog: { tail: reader.tail, open: seal.open, sink, standing: () => standing(platform, rows) },
    jobs: [
      {
        id: 'agora.log-sweep',
        everyMs: SWEEP_MS,
        scope: 'cluster',
        run: () => rows.sweep({ days: config.SVC_KEEP_EVENTS_DAYS, rows: config.SVC_KEEP_LOG_ROWS }),
      },
    ],
    async close() {
      await sink.close();
      await consumer.close();
    },
  };
}

async function standing(platform: Platform, rows: LogRows): Promise<LogStanding> {
  const [state, positions] = await Promise.all([rows.state(), rows.positions()]);
  const lags = await Promise.all(positions.map((position) => lagOf(platform, position)));
  return { ...state, lagMs: Math.max(0, ...lags), lost: lostOf(positions) };
}

/** Of a service that does not answer nothing is known, nor does it tell anything. */
async function lagOf(platform: Platform, { service, position }: LogPosition): Promise<number> {
  const page = await readEventPage(platform, service, { position, limit: 1 }).catch(() => null);
  const next = page !== null && 'events' in page ? page.events[0] : undefined;
  return next === undefined ? 0 : platform.clock.now() - next.event.at;
}

function lostOf(positions: readonly LogPosition[]): number {
  return positions.reduce((sum, { lost }) => sum + lost, 0);
}

function measureLost({ metrics }: Platform, rows: LogRows): void {
  const meaning = 'Events that a service no longer kept when the event log came to take them over.';
  metrics.gauge('svc_event_log_lost', meaning, ['service'], async (gauge) => {
    for (const { service, lost } of await rows.positions()) gauge.set({ service }, lost);
  });
}
