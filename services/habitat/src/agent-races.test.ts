import { migratedDatabase } from '@svc/testing/database.ts';
import { describeAgentRaces } from './agent-races.contract.ts';

describeAgentRaces('the embedded database', migratedDatabase, 1);
