import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { afterAll, test } from 'vitest';
import { describeChains } from './chains.contract.ts';

const server = await startPostgres();
afterAll(() => server?.stop());

const log = { warn() {}, fatal() {} };
if (server === null) test.skip('no PostgreSQL here');
else describeChains('PostgreSQL', () => openPostgresDatabase({ url: server.url, log, poolSize: 20 }), 2);
