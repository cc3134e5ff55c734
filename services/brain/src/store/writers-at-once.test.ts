import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { describeWritersAtOnce } from '../../testing/writers-at-once.contract.ts';

describeWritersAtOnce(migratedEmbeddedDatabase);
