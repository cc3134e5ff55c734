import { embeddedDatabase } from '@svc/testing/database.ts';
import { describePrisma } from './prisma.contract.ts';

describePrisma('embedded', embeddedDatabase);
