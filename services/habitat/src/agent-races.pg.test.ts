import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { describeAgentRaces } from './agent-races.contract.ts';

await onPostgres((open) => describeAgentRaces('PostgreSQL', open, 2));
