// Second half of the installation, run under the pinned Node: `install.ts production|all FINGERPRINT`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

const [kind, fingerprint] = process.argv.slice(2);
writeFileSync(
  join(root, 'node_modules', '.toolchain.json'),
  JSON.stringify({ kind, fingerprint, node: process.execPath }),
);
