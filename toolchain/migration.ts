// Migrations of the services' databases.
//   migration.ts check                  fails when a schema and its migrations disagree
//   migration.ts new <service> <name>   writes the migration that closes the difference
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { migrationDiff } from './migration-diff.ts';
import { embeddedDatabase } from '../shared/testing/src/database.ts';
import { type ServiceSchema, schemasOfServices } from './prisma-schemas.ts';

const root = join(import.meta.dirname, '..');
const eighth = join(root, 'shared', 'testing', 'src', 'eighth', 'prisma');
/** A service of the tests, whose tables are made as those of a new one are. */
const SMALLEST: ServiceSchema = {
  service: 'eighth',
  schema: join(eighth, 'schema.prisma'),
  migrations: join(eighth, 'migrations'),
};

async function difference(files: ServiceSchema): Promise<string> {
  await using database = await embeddedDatabase();
  return await migrationDiff(database.pool, files);
}

async function check(): Promise<number> {
  let drifted = 0;
  for (const files of [...schemasOfServices(root), SMALLEST]) {
    const sql = await difference(files);
    if (sql === '') continue;
    drifted += 1;
    console.error(`${relative(root, files.schema)} and its migrations differ by:\n${sql}`);
  }
  return drifted === 0 ? 0 : 1;
}

async function write(service: string, name: string): Promise<number> {
  const files = schemasOfServices(root).find((candidate) => candidate.service === service);
  if (!files) throw new Error(`no service ${service} with a prisma/schema.prisma`);
  const sql = await difference(files);
  if (sql === '') {
    console.log('schema and migrations agree: nothing to write');
    return 0;
  }
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const folder = join(files.migrations, `${stamp}_${name}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'migration.sql'), sql);
  console.log(relative(root, join(folder, 'migration.sql')));
  return 0;
}

const [command, service, name] = process.argv.slice(2);
if (command === 'check') process.exitCode = await check();
else if (command === 'new' && service && name && /^[a-z0-9_]+$/.test(name))
  process.exitCode = await write(service, name);
else {
  console.error('usage: migration.ts check | new <service> <name_in_snake_case>');
  process.exitCode = 2;
}
