// Second half of the installation, run under the pinned Node: generates the database clients and leaves the stamp.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { schemasOfServices } from './prisma-schemas.ts';

const root = join(import.meta.dirname, '..');
const prisma = join(dirname(createRequire(import.meta.url).resolve('prisma/package.json')));
const prismaManifest = readFileSync(join(prisma, 'package.json'), 'utf8');

/** Generating takes a second or two per service, so a client that fits its schema and the installed Prisma stays. */
function generateClient(schema: string): void {
  const client = join(dirname(schema), '..', 'src', 'generated', 'prisma');
  const stampFile = join(client, '.generated-from');
  const stamp = createHash('sha256').update(prismaManifest).update(readFileSync(schema)).digest('hex');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const options = ['--schema', schema, '--config', join(root, 'toolchain', 'prisma.config.ts')];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(prisma, 'build', 'index.js'), 'generate', ...options],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`no database client for ${schema}:\n${stdout}${stderr}`);
  writeFileSync(stampFile, stamp);
}

for (const { schema } of schemasOfServices(root)) generateClient(schema);
const fingerprint = process.argv[2] ?? '';
writeFileSync(join(root, 'node_modules', '.toolchain.json'), JSON.stringify({ fingerprint, node: process.execPath }));
