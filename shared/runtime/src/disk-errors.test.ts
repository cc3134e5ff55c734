import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { expect, test } from 'vitest';
import { DiskRefusal, diskRefusalOf, diskTroubleOf } from './disk-errors.ts';

function failed(code: string, syscall: string, path?: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall, ...(path === undefined ? {} : { path }) });
}

function git(stderr: string): Error {
  return Object.assign(new Error('git exited with 128'), { code: 'exit', stderr });
}

test.each([
  ['a full disk', failed('ENOSPC', 'write', '/data/brains/a/.git/index'), 'no space', 'brains'],
  ['a quota', failed('EDQUOT', 'write'), 'no space', null],
  ['a read-only disk', failed('EROFS', 'open', '/data/journal/x'), 'read-only', 'journal'],
  ['a denied file', failed('EACCES', 'open', '/data/worktrees/a'), 'permission', 'worktrees'],
  ['a broken disk', failed('EIO', 'fsync'), 'fault', null],
  ['what it is wrapped in', new DiskRefusal('no', { cause: failed('ENOSPC', 'write') }), 'no space', null],
  ['a refusal without a reason', new DiskRefusal('no'), 'fault', null],
  ['git on a full disk', git('fatal: write error: No space left on device\n'), 'no space', null],
  ['git on a read-only one', git("fatal: cannot mkdir '/data/brains/x': Read-only file system"), 'read-only', 'brains'],
  ['git that does not say why', git("error: unable to write file 'a.md'"), 'fault', null],
  ['git without rights', git('error: insufficient permission for adding an object'), 'permission', null],
  ['the database', Object.assign(new Error('could not extend file'), { code: '53100' }), 'no space', 'database'],
])('%s is told', (_name, error, reason, place) => {
  const trouble = diskTroubleOf(error);
  expect(trouble?.reason).toBe(reason);
  if (place !== null) expect(trouble?.place).toBe(place);
  expect(diskRefusalOf(error)).toMatchObject({ code: 'E_STATE_WRITE', details: { reason } });
});

test.each([
  ['a server that may not be reached', failed('EACCES', 'connect')],
  ['a program that may not be run', failed('EACCES', 'spawn')],
  ['an absent file', failed('ENOENT', 'open')],
  ['a credential', git('git@host: Permission denied (publickey).')],
  ['an answer', new CallError('E_BUSY')],
  ['an answer that was made of one', Object.assign(new Refusal('E_BUSY'), { cause: failed('ENOSPC', 'write') })],
  ['nothing', null],
])('%s is none', (_name, error) => {
  expect(diskTroubleOf(error)).toBeNull();
});

test('an error of the system is told as it is thrown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  try {
    readFileSync(folder);
    expect.unreachable();
  } catch (error) {
    expect(diskTroubleOf(error)).toBeNull(); // EISDIR
  } finally {
    rmSync(folder, { recursive: true });
  }
});
