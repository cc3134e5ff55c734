import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { describeChains } from './chains.contract.ts';

await onPostgres((open) => describeChains('PostgreSQL', open, 2));
