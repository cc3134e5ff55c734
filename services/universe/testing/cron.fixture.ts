/** `node cron.fixture.ts <URL of a database> <instance>`: a process in whose hands the first due tick stays for ever, and says which. */
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { openCronBed } from './cron-bed.ts';

const [, , url = '', instance = ''] = process.argv;
const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 4 });
const bed = await openCronBed(database, instance, ({ key }) => {
  process.stdout.write(`${key}\n`);
  return new Promise(() => {});
});
await bed.start();
