import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { describeAgentRaces } from './agent-races.contract.ts';

describeAgentRaces('the embedded database', migratedEmbeddedDatabase, 1);
