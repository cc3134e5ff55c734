import { expect, it } from 'vitest';
import type { Statement } from '@svc/runtime/transaction.ts';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';
import { turnsOf } from '../../testing/turns.ts';
import type { FileEntry } from '../files/file-entry.ts';
import { NoticedChanges } from '../files/noticed-changes.ts';
import { recordNoticed } from './change-records.ts';

const FILES = 40_000;

const bed = await bedOfFile();
const node = await bed.start();

it('lets others in while it records very many files, and sends each once, in order', async () => {
  await testCaller(() => node, null).ok('brain_switch', { name: 'noticed', create: true });
  const brain = [...node.openBrains()].find(({ context }) => context.name === 'noticed')?.context;
  if (brain === undefined) throw new Error('not open');
  const noticed = new NoticedChanges();
  const names = Array.from({ length: FILES }, (_, number) => `area ${number % 40}/note ${number}.md`);
  const described = { hash: 'h', blob: 'b', bytes: 1, stat: '', modifiedAt: 0, kind: 'text', mode: '100644' } as const;
  for (const path of names) {
    const entry: FileEntry = { ...described, path, onDisk: path, problem: null };
    noticed.addKnown(path, entry);
  }
  noticed.add('new.md', null, { ...described, path: 'new.md', onDisk: 'new.md', problem: null });
  const sent: Statement[] = [];
  const section = { soon: (statement: Statement) => void sent.push(statement) };
  const place = { brain, branch: 'main', hides: () => false };
  const turns = await turnsOf(() => recordNoticed(place, section, noticed.take(), 'recovery'));
  const rows = sent.flatMap(({ sql, values }) =>
    sql.includes('brain_files') ? (JSON.parse(String(values[2])) as { path: string }[]) : [],
  );
  expect(rows.map(({ path }) => path)).toEqual([...names, 'new.md']);
  expect(sent.filter(({ sql }) => !sql.includes('brain_files'))).toHaveLength(1);
  expect(turns).toBeGreaterThan(1);
});
