import { describe, expect, it } from 'vitest';
import { type FileEntry, FileTable } from './file-table.ts';

const entry = (path: string, blob = 'b1'): FileEntry => ({
  path,
  hash: `h-${blob}`,
  blob,
  bytes: 1,
  stat: '',
  modifiedAt: 0,
  isText: true,
});

describe('the file table', () => {
  it('knows what differs from the last commit', () => {
    const table = new FileTable();
    for (const path of ['a/kept.md', 'a/changed.md', 'new.md']) table.set(entry(path, path));
    table.setHead(
      new Map([
        ['a/kept.md', 'a/kept.md'],
        ['a/changed.md', 'old'],
        ['gone.md', 'g'],
      ]),
    );
    expect(table.changes()).toEqual([
      { file: 'a/changed.md', change: 'modified' },
      { file: 'gone.md', change: 'deleted' },
      { file: 'new.md', change: 'added' },
    ]);
    table.set(entry('a/changed.md', 'old'));
    table.delete('new.md');
    expect(table.changes()).toEqual([{ file: 'gone.md', change: 'deleted' }]);
    expect(table.isDirty('a/kept.md')).toBe(false);
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
});
