/** The tables of all services, as their migrations make them. */
import { join } from 'node:path';
import { migrate, migrationsOfService } from '@svc/runtime/migrations.ts';
import type { Pool } from 'pg';
import { schemasOfServices } from '../../../toolchain/prisma-schemas.ts';

const PROJECT = join(import.meta.dirname, '..', '..', '..');
const silent = { info() {} };

function migrationsOfServices() {
  return schemasOfServices(PROJECT).map(({ service, migrations }) => ({
    schema: service,
    migrations: migrationsOfService(service, migrations),
  }));
}

export async function migrateServices(pool: Pool): Promise<void> {
  for (const { schema, migrations } of migrationsOfServices()) await migrate({ pool, schema, migrations, log: silent });
}

/** All that decides what they are. */
export function inputsOfTables(): readonly string[] {
  return migrationsOfServices().flatMap(({ migrations }) => migrations.flatMap(({ name, sql }) => [name, sql]));
}
