import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layTables } from '@svc/testing/database.ts';
import { afterAll } from 'vitest';
import { describeTradeCrashes } from './crash.contract.ts';

const place = join(mkdtempSync(join(tmpdir(), 'market-crash-')), 'db');
afterAll(() => rmSync(join(place, '..'), { recursive: true, force: true }));

async function begin(): Promise<string> {
  await layTables(place);
  return place;
}

// Each start of the embedded database takes its time; all statements are tried on the server.
describeTradeCrashes('trades, embedded', begin, (act) => (act % 2 === 0 ? [5] : []));
