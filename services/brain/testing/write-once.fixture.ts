// Writes one file durably, then says so; traced by durable-write.test.ts.
import { writeSync } from 'node:fs';
import { applyChanges } from '../src/files/durable-write.ts';
import { StagedContents } from '../src/files/staged-contents.ts';

const [root = ''] = process.argv.slice(2);
await applyChanges(new StagedContents(root, () => 'traced'), [
  { path: 'new/file.md', content: Buffer.from('durable') },
]);
writeSync(1, 'answered\n');
