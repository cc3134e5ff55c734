import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { describeRaces } from './races.contract.ts';

await onPostgres((open) => describeRaces('PostgreSQL', open, 2));
