import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { type CrashSetup, describeCrashes } from './crash.contract.ts';

const log = { warn() {}, fatal() {} };

async function begin(): Promise<CrashSetup> {
  const place = mkdtempSync(join(tmpdir(), 'escrow-crash-'));
  return {
    place,
    open: () => openEmbeddedDatabase({ directory: place, log }),
    async stop() {
      rmSync(place, { recursive: true, force: true });
    },
  };
}

// Each start of the embedded database takes its time; all statements are tried on the server.
describeCrashes('embedded', begin, { statements: [5, 99], storms: 1 });
