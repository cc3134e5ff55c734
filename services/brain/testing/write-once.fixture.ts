// Writes one file durably, then says so; traced by durable-write.test.ts.
import { writeSync } from 'node:fs';
import { applyChanges } from '../src/files/durable-write.ts';

const [root = ''] = process.argv.slice(2);
await applyChanges(root, [{ path: 'new/file.md', content: Buffer.from('durable') }], () => 'traced');
writeSync(1, 'answered\n');
