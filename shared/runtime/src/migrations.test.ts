import { embeddedDatabase } from '@svc/testing/database.ts';
import { describeMigrations } from '@svc/testing/migrations.contract.ts';

describeMigrations('embedded', embeddedDatabase);
