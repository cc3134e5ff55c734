import { migratedDatabase } from '@svc/testing/database.ts';
import { describeChains } from './chains.contract.ts';

describeChains('the embedded database', migratedDatabase, 1);
