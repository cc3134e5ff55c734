import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { describeRaces } from './races.contract.ts';

describeRaces('PGlite', migratedEmbeddedDatabase, 1);
