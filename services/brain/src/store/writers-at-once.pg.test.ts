import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { describeWritersAtOnce } from '../../testing/writers-at-once.contract.ts';

await onPostgres(describeWritersAtOnce);
