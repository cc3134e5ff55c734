// Second half of the installation, run under the pinned Node: generates the database clients and leaves the stamp.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const fingerprint = process.argv[2] ?? '';
writeFileSync(join(root, 'node_modules', '.toolchain.json'), JSON.stringify({ fingerprint, node: process.execPath }));
