import { embeddedDatabase } from '@svc/testing/database.ts';
import { describeRaces } from './races.contract.ts';

describeRaces('PGlite', embeddedDatabase, 1);
