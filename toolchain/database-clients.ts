/** The database clients of the services, as Prisma writes them from their schemas. */
import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { schemasOfServices } from './prisma-schemas.ts';

const prisma = createRequire(import.meta.url).resolve('prisma/build/index.js');
const config = join(import.meta.dirname, 'prisma.config.ts');

/** Where they lie, below the root. */
export const DATABASE_CLIENTS = 'services/*/src/generated/prisma/**/*.ts';

/** Path below the root -> content. They are made beside copies of the schemas, because Prisma writes relative to those. */
export async function databaseClients(root: string): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-clients-'));
  try {
    await Promise.all(
      schemasOfServices(root).map(async ({ schema }) => {
        const copy = join(folder, relative(root, schema));
        mkdirSync(dirname(copy), { recursive: true });
        cpSync(schema, copy);
        await generate(root, copy);
      }),
    );
    const paths = globSync(DATABASE_CLIENTS, { cwd: folder });
    return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function generate(root: string, schema: string): Promise<void> {
  const child = spawn(process.execPath, [prisma, 'generate', '--schema', schema, '--config', config], { cwd: root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  if (status !== 0) throw new Error(`no database client for ${schema}:\n${output}`);
}
