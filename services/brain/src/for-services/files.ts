/** Files that a service reads and writes for whoever called it. */
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { listFiles } from '../operations/files.ts';
import { readStored } from '../operations/storage.ts';
import { checkedPath } from '../blocked-path.ts';
import { present, requireWriter, type Target } from '../tools/target.ts';
import { type Asked, callOf, type FileHandlers, targetOf } from './bearer.ts';
import { writeBatch, type Written } from './write-batch.ts';

/** One outcome for each reference, whatever it was asked with. */
export function scopeOf(asker: string, ref: string): IdempotencyScope {
  return { principal: asker, tool: 'writeFiles', key: ref, argsHash: '' };
}

interface ReadFile {
  readonly path: string;
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
}

export const fileOperations: FileHandlers<'readFiles' | 'listFiles' | 'writeFiles' | 'forgoWrite'> = {
  async readFiles({ paths, ...place }, asked) {
    const target = await targetOf(callOf(place.on, asked), place);
    const files: ReadFile[] = [];
    for (const path of paths) {
      const read = await readOne(target, checkedPath(path));
      if (!read.ok) return read;
      if (read.value !== null) files.push(read.value);
    }
    return allow({ brain: target.brain, branch: target.branch, files });
  },

  async listFiles({ directory, after, limit, ...place }, asked) {
    const { ask, brain, branch } = await targetOf(callOf(place.on, asked), place);
    const question = { branch, category: directory, at: null, limit, after, withContent: false, withTitle: false };
    const page = present(await ask(listFiles, question));
    if (!page.ok) return page;
    const { files, next } = page.value;
    return allow({ brain, branch, paths: files.map(({ file }) => file), more: next !== null });
  },

  async writeFiles({ ref, lease, fence, files, ...place }, asked) {
    const call = callOf(place.on, asked);
    requireWriter(call.caller);
    const { op, brain, branch, type } = await targetOf(call, place);
    if (type === 'public') throw new Refusal('E_READ_ONLY', { brain });
    const own = lease === null ? {} : { session: lease, verifiedAgent: null, declaredAgent: null };
    const writing = { ...op, ...own, fence, idempotency: scopeOf(asked.asker, ref) };
    const named = files.map((file) => ({ ...file, path: checkedPath(file.path) }));
    const written = await asked.deps.router.brain(brain, writing).ask(writeBatch, { branch, files: named });
    if (!written.ok) return written;
    return allow({ brain, branch, files: shown(written.value) });
  },

  async forgoWrite({ ref }, { asker, deps }: Asked) {
    const stored = await deps.forgo<readonly Written[]>(scopeOf(asker, ref));
    return { written: stored === null ? null : shown(stored) };
  },
};

function shown(files: readonly Written[]) {
  return files.map((file) => ({ ...file, resources: [...file.resources] }));
}

/** Null = there is none that may be read whole. */
async function readOne({ ask, branch }: Target, path: string): Promise<Decision<ReadFile | null, 'E_BRANCH_ABSENT'>> {
  for (const encoding of ['utf8', 'base64'] as const) {
    const read = await ask(readStored, { branch, path, at: null, encoding, offset: 0 });
    if (read.ok) {
      const { path: found, content, nextOffset } = read.value;
      return allow(found === path && nextOffset === null ? { path, content, encoding } : null);
    }
    if (read.code === 'E_BRANCH_ABSENT') return deny(read.code, read.details);
    if (read.code === 'E_REF_ABSENT') throw new CallError('INTERNAL', 'the present state of a branch is always there');
    if (read.code === 'E_FILE_ABSENT') return allow(null);
  }
  return allow(null);
}
