import { runs } from '@svc/testing/counts.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, test } from 'vitest';
import { type Cuts, describeTradeCrashes } from './crash.contract.ts';

/** As many as the longest of them has, the statements of the ledger included. */
const MOST = 22;
const server = await lendPostgres();
afterAll(() => server?.stop());

/** All of them in the soak run, and otherwise some, of each act other ones: two starts for each take their time. */
const OF_EACH = 3;
const count = runs(MOST) < MOST ? OF_EACH : MOST;
const cuts: Cuts = (act) =>
  Array.from({ length: count }, (_, n) => 1 + ((Math.floor((n * MOST) / count) + 2 * act) % MOST));

if (server === null) test.skip('no PostgreSQL here');
else describeTradeCrashes('trades on PostgreSQL', async () => server.url, cuts);
