import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { describeSettings } from './settings.contract.ts';

await onPostgres((open) => describeSettings('PostgreSQL', open, 2));
