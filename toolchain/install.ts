// Second half of the installation, run under the pinned Node: `install.ts production|all FINGERPRINT`.
import { globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

// Prisma ships a query compiler for each of five databases in two sizes, 66 MB of 71; the clients name this one.
const compilers = 'node_modules/.pnpm/@prisma+client@*/node_modules/@prisma/client/runtime/query_compiler_*';
for (const file of globSync(compilers, { cwd: root }))
  if (!file.includes('small_bg.postgresql')) rmSync(join(root, file));

const [kind, fingerprint] = process.argv.slice(2);
writeFileSync(
  join(root, 'node_modules', '.toolchain.json'),
  JSON.stringify({ kind, fingerprint, node: process.execPath }),
);
