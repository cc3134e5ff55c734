/** The SQL that leads from a service's migrations to its schema, computed on a throw-away database. */
import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ColumnTypeEnum, bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { PrismaPg } from '@prisma/adapter-pg';
import { SchemaEngine } from '@prisma/schema-engine-wasm';
import { type Pool, types } from 'pg';
import { migrationsOfService } from '../shared/runtime/src/migrations.ts';
import type { ServiceSchema } from './prisma-schemas.ts';

const COMMON = join(import.meta.dirname, '..', 'shared', 'runtime', 'prisma', 'common.prisma');

/**
 * Answers '' when schema and migrations agree, the common tables included. `pool` must lead to an empty database that nobody
 * needs afterwards.
 */
export async function migrationDiff(pool: Pool, { service, schema, migrations }: ServiceSchema): Promise<string> {
  const files = [schema, COMMON].map((path) => ({
    path,
    content: readFileSync(path, 'utf8').replaceAll('{schema}', service),
  }));
  const engine = await SchemaEngine.new(
    { datamodels: files.map(({ path, content }) => [path, content]) },
    () => {},
    bindMigrationAwareSqlAdapterFactory(new ThrowAwayAdapter(pool)),
  );
  const { stdout } = await engine.diff({
    from: {
      tag: 'migrations',
      baseDir: migrations,
      lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
      shadowDbInitScript: '',
      migrationDirectories: migrationsOfService(service, migrations).map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
      })),
    },
    to: { tag: 'schemaDatamodel', files },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  return stdout === null || stdout.includes('This is an empty migration') ? '' : stdout;
}

/**
 * The engine replays the migrations in a "shadow": here the empty database itself.
 * It also reads columns of the catalogue's one-character type, which the adapter does not know: they travel as text and
 * get their type back on arrival.
 */
class ThrowAwayAdapter extends PrismaPg {
  readonly #charColumns = new Set<string>();

  constructor(pool: Pool) {
    super(pool);
    pool.on('connect', (client) => {
      const { connection } = client as unknown as { connection: EventEmitter };
      connection.on('rowDescription', ({ fields }: { fields: FieldDescription[] }) => {
        for (const field of fields.filter(({ dataTypeID }) => dataTypeID === CHAR)) {
          this.#charColumns.add(field.name);
          field.dataTypeID = types.builtins.TEXT;
        }
      });
    });
  }

  override async connect() {
    const connection = await super.connect();
    const queryRaw = connection.queryRaw.bind(connection);
    connection.queryRaw = async (query) => {
      const result = await queryRaw(query);
      const columnTypes = result.columnTypes.map((type, index) =>
        this.#charColumns.has(result.columnNames[index] ?? '') ? ColumnTypeEnum.Character : type,
      );
      return { ...result, columnTypes };
    };
    return connection;
  }

  override connectToShadowDb() {
    return this.connect();
  }
}

interface FieldDescription {
  readonly name: string;
  dataTypeID: number;
}

const CHAR: number = types.builtins.CHAR;
