import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { describeChains } from './chains.contract.ts';

describeChains('the embedded database', migratedEmbeddedDatabase, 1);
