import { migratedDatabase } from '@svc/testing/database.ts';
import { describeRaces } from './races.contract.ts';

describeRaces('PGlite', migratedDatabase, 1);
