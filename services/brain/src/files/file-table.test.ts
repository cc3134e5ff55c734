import { describe, expect, it } from 'vitest';
import type { FileEntry } from './file-entry.ts';
import { FileTable } from './file-table.ts';

const entry = (path: string, blob = 'b1', over: Partial<FileEntry> = {}): FileEntry => ({
  path,
  onDisk: path,
  kind: 'text',
  mode: '100644',
  hash: `h-${blob}`,
  blob,
  bytes: 1,
  stat: '',
  modifiedAt: 0,
  problem: null,
  ...over,
});
const plain = (oid: string) => ({ mode: '100644', oid });
const shown = (table: FileTable) => table.changes().map(({ file, change }) => ({ file, change }));

describe('the file table', () => {
  it('knows what differs from the last commit', () => {
    const table = new FileTable();
    for (const path of ['a/kept.md', 'a/changed.md', 'new.md']) table.set(entry(path, path));
    table.setHead(
      new Map([
        ['a/kept.md', plain('a/kept.md')],
        ['a/changed.md', plain('old')],
        ['gone.md', plain('g')],
      ]),
    );
    expect(shown(table)).toEqual([
      { file: 'a/changed.md', change: 'modified' },
      { file: 'gone.md', change: 'deleted' },
      { file: 'new.md', change: 'added' },
    ]);
    table.set(entry('a/changed.md', 'old'));
    table.delete('new.md');
    expect(shown(table)).toEqual([{ file: 'gone.md', change: 'deleted' }]);
    expect(table.isDirty('a/kept.md')).toBe(false);
    table.set(entry('a/changed.md', 'old', { mode: '100755' }));
    expect(table.isDirty('a/changed.md')).toBe(true);
  });

  it('leaves what a commit must not add, and takes it when a person has tracked it', () => {
    const table = new FileTable();
    table.set(entry('.hidden/x.json', 'd', { kind: 'other', problem: 'begins with a dot' }));
    table.set(entry('link.md', 'l', { kind: 'link', mode: '120000', problem: 'is a link' }));
    table.set(entry('huge.bin', '', { kind: 'other', hash: '', problem: 'is huge' }));
    table.set(entry('what?.md', 'w', { kind: 'other', problem: 'has a question mark' }));
    expect(shown(table)).toEqual([{ file: 'what?.md', change: 'added' }]);
    expect(table.left().map(({ file }) => file)).toEqual(['.hidden/x.json', 'huge.bin', 'link.md']);
    table.setHead(
      new Map([
        ['.hidden/x.json', plain('old')],
        ['link.md', plain('l')],
      ]),
    );
    expect(shown(table)).toEqual([
      { file: '.hidden/x.json', change: 'modified' },
      { file: 'link.md', change: 'modified' },
      { file: 'what?.md', change: 'added' },
    ]);
  });

  it('takes nothing for deleted that was never put into the working tree', () => {
    const table = new FileTable();
    table.setHead(new Map([['far/link', { mode: '120000', oid: 'l' }]]));
    expect(shown(table)).toEqual([{ file: 'far/link', change: 'deleted' }]);
    expect(table.isIncomplete).toBe(true);
    table.setSkipped(new Set(['far/link']));
    expect(shown(table)).toEqual([]);
    expect(table.left()).toMatchObject([{ file: 'far/link', kind: 'link' }]);
    expect(table.unserved()).toMatchObject([{ file: 'far/link' }]);
  });

  it('takes nothing for deleted below a directory that is not looked into', () => {
    const table = new FileTable();
    table.setHead(new Map([['lib/x.md', plain('x')]]));
    const problem = 'is a git repository of its own';
    table.set(entry('lib', '', { kind: 'other', hash: '', problem }));
    expect(shown(table)).toEqual([]);
    expect(table.left()).toMatchObject([{ file: 'lib' }, { file: 'lib/x.md', problem }]);
    table.set(entry('lib', '', { kind: 'other', hash: '', problem: 'is neither a file nor a link' }));
    expect(shown(table)).toEqual([{ file: 'lib/x.md', change: 'deleted' }]);
  });

  it('takes a repository inside for deleted only when not even its directory is there', () => {
    const directories = new Set(['lib']);
    const table = new FileTable((onDisk) => directories.has(onDisk));
    table.setHead(new Map([['lib', { mode: '160000', oid: 'c' }]]));
    expect(shown(table)).toEqual([]);
    expect(table.left()).toEqual([{ file: 'lib', kind: 'other', problem: 'is a git repository of its own' }]);
    expect(table.unserved()).toEqual(table.left());
    directories.clear();
    expect(shown(table)).toEqual([{ file: 'lib', change: 'deleted' }]);
  });

  it('leaves what lies in the way of an entry of the last commit, at its place, below it and above it', () => {
    const table = new FileTable();
    table.set(entry('own.md', 'mine'));
    table.set(entry('dir.md/below.md', 'mine'));
    table.set(entry('above', 'mine'));
    table.set(entry('other.md', 'mine'));
    table.setHead(
      new Map(['own.md', 'dir.md', 'above/x.md', 'cafe\u0301.md', 'gone.md'].map((path) => [path, plain('o')])),
    );
    for (const path of ['own.md', 'dir.md', 'above/x.md', 'caf\u00e9.md']) table.inTheWay.add(path);
    expect(shown(table)).toEqual([
      { file: 'gone.md', change: 'deleted' },
      { file: 'other.md', change: 'added' },
    ]);
    expect(table.dirtyCount).toBe(2);
    expect(table.left().map(({ file }) => file)).toEqual([
      'above',
      'above/x.md',
      'caf\u00e9.md',
      'dir.md',
      'dir.md/below.md',
      'own.md',
    ]);
    table.set(entry('own.md', 'o'));
    expect([table.isCleared('own.md'), table.isCleared('dir.md')]).toEqual([true, false]);
    table.advanceHead(new Map([['dir.md', null]]));
    expect(shown(table)).toContainEqual({ file: 'dir.md/below.md', change: 'added' });
  });

  it('looks a name up by its NFC form and keeps the spelling of the disk', () => {
    const nfc = 'caf\u00e9.md';
    const nfd = 'cafe\u0301.md';
    const table = new FileTable();
    table.setHead(new Map([[nfd, plain('b1')]]));
    expect(table.pathOf(nfd)).toBe(nfc);
    table.set(entry(nfc, 'b1', { onDisk: nfd }));
    expect([table.isDirty(nfc), shown(table)]).toEqual([false, []]);
    table.set(entry(nfc, 'b2')); // both spellings side by side
    expect([table.pathOf(nfc), table.pathOf(nfd)]).toEqual([nfc, nfd]);
    expect(shown(table)).toEqual([{ file: nfc, change: 'added' }]);
    table.delete(nfc);
    table.delete(nfd);
    expect(shown(table)).toEqual([{ file: nfc, change: 'deleted' }]);
  });

  it('finds names that fold to one, in files and directories, until the last user is gone', () => {
    const table = new FileTable();
    table.set(entry('Notes/One.md'));
    table.set(entry('Notes/Two.md'));
    expect(table.collision('notes/three.md')).toBe('Notes');
    expect(table.collision('Notes/ONE.md')).toBe('Notes/One.md');
    expect(table.collision('Notes/One.md')).toBeNull();
    expect(table.collision('Notes')).toBe('Notes');
    expect(table.collision('Notes/One.md/below.md')).toBe('Notes/One.md');
    table.delete('Notes/One.md');
    expect(table.collision('Notes/ONE.md')).toBeNull();
    expect(table.collision('notes/three.md')).toBe('Notes');
    table.delete('Notes/Two.md');
    expect(table.collision('notes/three.md')).toBeNull();
  });

  it('shows the second of two such names with a problem, until the first is gone', () => {
    const table = new FileTable();
    const second = entry('note.md');
    table.set(entry('Note.md'));
    table.set(second);
    // Not which: whoever sees the one may not be one who sees the other.
    expect(table.problemOf(second)).toMatch(/do not tell apart from another one$/);
    expect(table.collision('Note.md')).toBeNull();
    table.delete('Note.md');
    expect(table.problemOf(second)).toBeNull();
    expect(table.collision('Note.md')).toBe('note.md');
  });
});
