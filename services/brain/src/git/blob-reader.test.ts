import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeTestBed, mustRead } from '../../testing/git-test-bed.ts';
import { readBlobPiece } from './blob-piece.ts';
import { BlobReader } from './blob-reader.ts';
import { treeOf, writeBlobs } from './objects.ts';
import type { Git } from './run.ts';

/** Git, and how many answers of it were waited for at most. */
function watched(git: Git): { readonly git: Git; answered(): void; readonly most: () => number } {
  let open = 0;
  let most = 0;
  return {
    git: {
      ...git,
      start(call, listener) {
        const dialogue = git.start(call, listener);
        return {
          ...dialogue,
          write(questions) {
            open += questions.split('\n').length - 1;
            most = Math.max(most, open);
            dialogue.write(questions);
          },
        };
      },
    },
    answered: () => {
      open -= 1;
    },
    most: () => most,
  };
}

test('git is asked no more at a time than fits into memory, however many ask, and each gets its blob', async () => {
  await using bed = await makeTestBed();
  const contents = Array.from({ length: 300 }, (_, index) => Buffer.from(`blob ${index}`));
  const oids = await writeBlobs(bed.repository, contents);
  const watch = watched(bed.repository.git);
  using reader = new BlobReader(watch.git, bed.repository.gitDir);
  const read = async (oid: string): Promise<string | undefined> => {
    const blob = await reader.read(oid);
    watch.answered();
    return blob?.toString();
  };

  expect(await Promise.all(oids.map(read))).toEqual(contents.map(String));
  expect(watch.most()).toBeGreaterThan(1);
  // 32, and what one message of git answered at once before its readers were told
  expect(watch.most()).toBeLessThanOrEqual(64);
});

test('a piece of a large blob is cut out on the way, also at its ends and beyond, with others at once', async () => {
  await using bed = await makeTestBed();
  const content = randomBytes(3_000_000);
  const [oid = ''] = await writeBlobs(bed.repository, [content]);
  const pieces = [0, 1, 1_048_576, 2_999_999, 3_000_000, 9_000_000].map((offset) => ({ offset, length: 1_000_000 }));
  const read = await Promise.all(pieces.map((piece) => readBlobPiece(bed.repository, oid, piece)));
  const wanted = pieces.map(({ offset, length }) => content.subarray(offset, offset + length));
  expect(read.map((piece, index) => piece.equals(wanted[index] ?? Buffer.alloc(0)))).toEqual(pieces.map(() => true));
  await expect(readBlobPiece(bed.repository, '1'.repeat(40), { offset: 0, length: 1 })).rejects.toThrow('cat-file');
});

test('the tree of a commit is told without the text of the commit, however long that is', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  const { dir, gitDir } = repository;
  const before = await mustRead(repository, 'main');
  const text = `${'long '.repeat(300_000)}\n`;
  const commit = `commit refs/heads/main\ncommitter A <a@x> 1600000000 +0000\ndata ${text.length}\n${text}from ${before}\n`;
  const file = 'M 100644 inline a.md\ndata 1\na\n';
  execFileSync('git', ['fast-import', '--quiet'], { cwd: dir, input: `${commit}${file}` });
  let told = 0;
  using blobs = new BlobReader(
    {
      ...repository.git,
      start: (call, { output, closed }) =>
        repository.git.start(call, {
          output(bytes) {
            told += bytes.length;
            output(bytes);
          },
          closed,
        }),
    },
    gitDir,
  );

  const tree = await treeOf({ ...repository, blobs }, await mustRead(repository, 'main'));
  const wanted = execFileSync('git', ['rev-parse', 'main^{tree}'], { cwd: dir, encoding: 'latin1' }).trim();
  expect(tree).toBe(wanted);
  expect(told).toBeLessThan(1000);
  await expect(treeOf({ ...repository, blobs }, 'a'.repeat(40))).rejects.toThrow('is no commit');
});
