import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyChanges, ChangedUnderneath, DiskRefusal } from './durable-write.ts';
import { StagedContents } from './staged-contents.ts';

let root: string;
let serial = 0;
const tempName = () => `t${(serial += 1)}`;
const bytes = (text: string) => Buffer.from(text);
const contents = () => new StagedContents(root, tempName);
const read = (path: string) => readFileSync(join(root, path), 'utf8');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'durable-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('applying changes', () => {
  it('creates, replaces and removes, and leaves no temp file', async () => {
    writeFileSync(join(root, 'old.md'), 'old');
    writeFileSync(join(root, 'gone.md'), 'gone');
    await applyChanges(contents(), [
      { path: 'a/b/new.md', content: bytes('new') },
      { path: 'old.md', content: bytes('newer') },
      { path: 'gone.md', content: null },
    ]);
    expect([read('a/b/new.md'), read('old.md')]).toEqual(['new', 'newer']);
    expect(readdirSync(root).sort()).toEqual(['a', 'old.md']);
  });

  it('lets a file take the place of a directory and a directory that of a file, and back', async () => {
    mkdirSync(join(root, 'dir'));
    writeFileSync(join(root, 'dir', 'inside.md'), 'inside');
    writeFileSync(join(root, 'plain'), 'plain');
    const applied = await applyChanges(contents(), [
      { path: 'dir', content: bytes('now a file') },
      { path: 'plain/below.md', content: bytes('below') },
      { path: 'dir/inside.md', content: null },
      { path: 'plain', content: null },
    ]);
    expect([read('dir'), read('plain/below.md')]).toEqual(['now a file', 'below']);
    await applied.undo();
    expect([read('dir/inside.md'), read('plain')]).toEqual(['inside', 'plain']);
  });

  it('leaves nothing in a directory that is moved while it writes, and tells that somebody changed it', async () => {
    mkdirSync(join(root, 'notes'));
    mkdirSync(join(root, 'other'));
    writeFileSync(join(root, 'notes', 'old.md'), 'old');
    const movingMeanwhile = () => {
      if (existsSync(join(root, 'notes')) && readdirSync(join(root, 'notes')).length > 1)
        renameSync(join(root, 'notes'), join(root, 'moved'));
      return tempName();
    };
    const changes = [
      { path: 'notes/new.md', content: bytes('new'), expects: null },
      { path: 'other/new.md', content: bytes('new'), expects: null },
    ];
    await expect(applyChanges(new StagedContents(root, movingMeanwhile), changes)).rejects.toThrow(ChangedUnderneath);
    expect(new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['moved', 'moved/old.md', 'other']),
    );
  });

  it('puts nothing back over what somebody else has put there since', async () => {
    writeFileSync(join(root, 'old.md'), 'old');
    writeFileSync(join(root, 'gone.md'), 'gone');
    writeFileSync(join(root, 'kept.md'), 'before');
    const applied = await applyChanges(contents(), [
      { path: 'old.md', content: bytes('ours') },
      { path: 'new.md', content: bytes('ours') },
      { path: 'gone.md', content: null },
      { path: 'kept.md', content: bytes('ours') },
    ]);
    await applyChanges(contents(), [{ path: 'old.md', content: bytes('by the next owner') }]);
    writeFileSync(join(root, 'new.md'), 'in place, by an editor');
    writeFileSync(join(root, 'gone.md'), 'made again');
    await applied.undo();
    expect(['old.md', 'new.md', 'gone.md', 'kept.md'].map(read)).toEqual([
      'by the next owner',
      'in place, by an editor',
      'made again',
      'before',
    ]);
  });

  it('puts everything back on undo', async () => {
    writeFileSync(join(root, 'old.md'), 'old');
    writeFileSync(join(root, 'gone.md'), 'gone');
    const applied = await applyChanges(contents(), [
      { path: 'new.md', content: bytes('new') },
      { path: 'old.md', content: bytes('newer') },
      { path: 'gone.md', content: null },
    ]);
    await applied.undo();
    expect([read('old.md'), read('gone.md')]).toEqual(['old', 'gone']);
    expect(readdirSync(root).sort()).toEqual(['gone.md', 'old.md']);
  });

  it('puts back what was there as runnable as it was', async () => {
    writeFileSync(join(root, 'run.sh'), 'old', { mode: 0o755 });
    const applied = await applyChanges(contents(), [
      { path: 'run.sh', content: bytes('new') },
      { path: 'plain.md', content: bytes('new') },
    ]);
    await applied.undo();
    expect(read('run.sh')).toBe('old');
    expect(statSync(join(root, 'run.sh')).mode & 0o777).toBe(0o755);
  });

  it('takes what had begun where it is still wanted, and leaves nothing of the rest', async () => {
    writeFileSync(join(root, 'old.md'), 'old');
    const begun = contents();
    const [wanted, other] = [bytes('wanted'), bytes('other')];
    begun.begin([
      { path: 'new.md', content: wanted },
      { path: 'old.md', content: other },
      { path: 'gone.md', content: other },
      { path: 'not/there/yet.md', content: other },
    ]);
    const temp = readdirSync(root).find((name) => read(name) === 'wanted') ?? '';
    const { ino } = statSync(join(root, temp));
    await applyChanges(begun, [
      { path: 'new.md', content: wanted },
      { path: 'old.md', content: bytes('newer') },
    ]);
    expect(statSync(join(root, 'new.md')).ino).toBe(ino);
    expect([read('new.md'), read('old.md')]).toEqual(['wanted', 'newer']);
    expect(readdirSync(root).sort()).toEqual(['new.md', 'old.md']);
  });

  it('leaves no directory that it made for what is refused', async () => {
    mkdirSync(join(root, 'there'));
    mkdirSync(join(root, 'taken.md', 'x'), { recursive: true });
    const attempt = applyChanges(contents(), [
      { path: 'new/file.md', content: bytes('no') },
      { path: 'taken.md', content: bytes('no') },
      { path: 'new/deep/file.md', content: bytes('no') },
      { path: 'there/new/file.md', content: bytes('no') },
    ]);
    await expect(attempt).rejects.toBeInstanceOf(DiskRefusal);
    expect(new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['taken.md', 'taken.md/x', 'there']),
    );
  });

  it('leaves a directory that was there on undo, however empty, and none that it made', async () => {
    mkdirSync(join(root, 'there'));
    const applied = await applyChanges(contents(), [
      { path: 'there/file.md', content: bytes('new') },
      { path: 'there/new/file.md', content: bytes('new') },
    ]);
    await applied.undo();
    expect(readdirSync(root, { recursive: true })).toEqual(['there']);
  });

  it('changes nothing when one of them is refused', async () => {
    writeFileSync(join(root, 'first.md'), 'first');
    mkdirSync(join(root, 'taken.md', 'x'), { recursive: true });
    const attempt = applyChanges(contents(), [
      { path: 'first.md', content: bytes('changed') },
      { path: 'taken.md', content: bytes('no') },
    ]);
    await expect(attempt).rejects.toBeInstanceOf(DiskRefusal);
    expect(read('first.md')).toBe('first');
    expect(readdirSync(root).sort()).toEqual(['first.md', 'taken.md']);
  });
});

describe('durability', () => {
  it.skipIf(spawnSync('strace', ['-V']).status !== 0)(
    'has the file, its directory and the new parent on disk before it answers',
    () => {
      const trace = join(tmpdir(), `trace-${process.pid}`);
      const script = join(import.meta.dirname, '..', '..', 'testing', 'write-once.fixture.ts');
      const calls = 'trace=fsync,fdatasync,rename,write';
      spawnSync('strace', ['-f', '-y', '-e', calls, '-o', trace, process.execPath, script, root]);
      const lines = readFileSync(trace, 'utf8').split('\n');
      rmSync(trace);
      const answered = lines.findIndex((line) => line.includes('"answered'));
      const renamed = lines.findIndex((line) => line.includes('rename(') && line.includes('new/file.md'));
      const synced = (from: number, to: number) =>
        lines
          .slice(from, to)
          .filter((line) => line.includes('fsync('))
          .join('\n');
      expect(answered).toBeGreaterThan(renamed);
      expect(synced(0, renamed)).toContain('/new/.svc-traced.tmp>');
      expect(synced(renamed, answered)).toContain(`${root}/new>`);
      expect(synced(renamed, answered)).toContain(`${root}>`);
    },
  );
});
