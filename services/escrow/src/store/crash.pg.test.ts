import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, test } from 'vitest';
import { describeCrashes } from './crash.contract.ts';

const server = await lendPostgres();
afterAll(() => server?.stop());
const log = { warn() {}, fatal() {} };

if (server === null) test.skip('no PostgreSQL here');
else {
  const open = () => openPostgresDatabase({ url: server.url, log, poolSize: 2 });
  describeCrashes('PostgreSQL', async () => ({ place: server.url, open, async stop() {} }), { storms: 10 });
}
