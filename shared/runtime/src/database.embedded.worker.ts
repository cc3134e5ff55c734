/** The thread that runs PGlite: opens the directory, serves it on a unix socket until told to close. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import { dataDir } from '@electric-sql/pglite-prepopulatedfs';
import { MESSAGE, messageOf } from './database.embedded.messages.ts';
import { writeTemplate } from './database.embedded.template.ts';
import { serveWire } from './database.embedded.wire.ts';
import { releaseGarbageWhenIdle } from './garbage-of-start.ts';

export interface EngineRequest {
  readonly directory: string;
  readonly socketPath: string;
  readonly maxConnections: number;
}

export type EngineReport =
  | { readonly kind: 'ready' | 'closed' }
  | { readonly kind: 'failed' | 'broken'; readonly reason: string };

const SETTINGS = { shared_buffers: '32MB', TimeZone: 'UTC' };

/** Nothing but the parser sees it. */
const NO_STATEMENT = Uint8Array.from(messageOf(MESSAGE.query, ';'));

function report(message: EngineReport): void {
  parentPort?.postMessage(message); // oxlint-disable-line unicorn/require-post-message-target-origin -- not a window
}

/**
 * The parser is one function with so many branches that V8 takes 600 MB and a second of a core to optimise it, and would do
 * so in each start. What is compiled while the filter stands is never optimised. That is all that parses, because what else
 * the session needs for no statement at all has run before.
 */
class Session extends PGlite {
  #hasParsed = false;

  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    if (!this.#hasParsed) {
      this.#hasParsed = true;
      setFlagsFromString('--wasm-tier-up-filter=0');
      try {
        super.execProtocolRawSync(NO_STATEMENT);
      } finally {
        setFlagsFromString('--wasm-tier-up-filter=-1');
      }
    }
    return super.execProtocolRawSync(message);
  }
}

/**
 * A new directory is copied from a template instead of running initdb. The marker exists while the copy is incomplete:
 * a process killed in between leaves a directory that nobody has written to, which is safe to discard.
 */
async function openDirectory(directory: string): Promise<PGlite> {
  const files = join(directory, 'pg');
  const marker = join(directory, 'pg.incomplete');
  if (existsSync(marker)) rmSync(files, { recursive: true, force: true });
  const isNew = !existsSync(join(files, 'PG_VERSION'));
  if (isNew) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(marker, '');
    writeTemplate(await (await dataDir()).bytes(), files);
  }
  const db = new Session({
    dataDir: files,
    startParams: [
      ...PGlite.defaultStartParams,
      ...Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
  });
  await db.waitReady;
  if (isNew) rmSync(marker);
  releaseGarbageWhenIdle();
  return db;
}

async function serve({ directory, socketPath, maxConnections }: EngineRequest): Promise<void> {
  const db = await openDirectory(directory);
  const onBroken = (error: unknown) => report({ kind: 'broken', reason: String(error) });
  const server = await serveWire(db, { path: socketPath, maxConnections, onBroken });
  parentPort?.once('message', () => {
    void server
      .close()
      .then(() => db.close())
      .then(() => report({ kind: 'closed' }));
  });
  report({ kind: 'ready' });
}

serve(workerData as EngineRequest).catch((error: unknown) => report({ kind: 'failed', reason: String(error) }));
