import { runs } from '@svc/testing/counts.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, test } from 'vitest';
import { describeTradeCrashes } from './crash.contract.ts';

/** As many as the longest of them has, the statements of the ledger included. */
const MOST = 22;
const server = await lendPostgres();
afterAll(() => server?.stop());

/** All of them in the soak run, spread over all of it otherwise: two starts for each take their time. */
const count = Math.min(MOST, runs(MOST));
const statements = Array.from({ length: count }, (_, n) => 1 + Math.floor((n * MOST) / count));

if (server === null) test.skip('no PostgreSQL here');
else describeTradeCrashes('trades on PostgreSQL', async () => server.url, { statements });
