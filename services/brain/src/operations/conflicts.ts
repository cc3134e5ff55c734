/** What merges left open: listed, shown with the texts of all sides, and settled. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { decodeText } from '../files/file-entry.ts';
import { readBlobSizes } from '../git/blob-sizes.ts';
import { readBlob } from '../git/objects.ts';
import type { RowView } from '../ports.ts';
import { readConflict as readStored, readConflicts, type StoredConflict } from '../store/conflict-store.ts';
import { resolveConflicts } from '../store/sync-store.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { writeSection } from '../writer/context.ts';
import { type OpenBrain, WRITE_REFUSALS, type WriteRefusal } from '../brain/open-brain.ts';
import { decision, defineOperation, list, onBranch, once, page, type Served, unkeyed } from './operation.ts';

type Resolving = WriteRefusal | 'E_BUSY' | 'E_NOT_FOUND' | 'E_NOT_TEXT';

const ConflictRow = z.strictObject({
  id: z.string(),
  file: z.string(),
  kind: z.string(),
  /** Blob ids; null also where hidden fields forbid to tell. */
  base: z.string().nullable(),
  ours: z.string().nullable(),
  theirs: z.string().nullable(),
  rescue: z.string().nullable(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  resolvedAt: z.number().nullable(),
});
type ConflictRow = z.output<typeof ConflictRow>;

const ROWS_AT_ONCE = 1000;

/** Open ones, or settled ones, of a branch in order of their ids. */
export const listConflicts = defineOperation({
  name: 'conflicts',
  effect: 'read',
  question: z.strictObject({ ...onBranch, file: z.string().nullable(), resolved: z.boolean(), ...page }),
  answer: z.strictObject({ conflicts: list(ConflictRow), next: z.string().nullable() }),
  async run({ brain: { context }, rows }, { branch, file, resolved, limit, after }) {
    const { name: brain, platform } = context;
    const client = poolClient(platform.database.pool);
    const conflicts: ConflictRow[] = [];
    for (let from = after; ; ) {
      const some = await readConflicts(client, { brain, branch, file, resolved, after: from, limit: ROWS_AT_ONCE });
      for (const stored of some) {
        if (!rows.mayRead(stored.file)) continue;
        if (conflicts.length === limit) return { conflicts, next: conflicts.at(-1)?.id ?? null };
        conflicts.push(shownRow(stored, rows));
      }
      if (some.length < ROWS_AT_ONCE) return { conflicts, next: null };
      from = some.at(-1)?.id ?? null;
    }
  },
});

/** The id of a blob would tell a guesser what its hidden fields hold. */
function shownRow({ branch: _branch, ...row }: StoredConflict, { hides }: RowView): ConflictRow {
  return hides(row.file) ? { ...row, base: null, ours: null, theirs: null } : row;
}

/** One side of a conflict; null in its place = that side has no such file. */
const ConflictSide = z.strictObject({
  /** Null when it is not text, longer than 1 MiB, no longer kept, or must not be shown. */
  text: z.string().nullable(),
  bytes: z.number().nullable(),
});
type ConflictSide = z.output<typeof ConflictSide>;

const side = ConflictSide.nullable();

export const readConflict = defineOperation({
  name: 'readConflict',
  effect: 'read',
  question: z.strictObject({ id: z.string() }),
  answer: decision(ConflictRow.extend({ branch: z.string(), base: side, ours: side, theirs: side }), ['E_NOT_FOUND']),
  async run({ brain, rows }, { id }) {
    const found = await readable(brain, id, rows);
    if (found === null) return deny('E_NOT_FOUND', { id });
    const { base, ours, theirs, ...row } = found;
    const oids = [base, ours, theirs].flatMap((oid) => oid ?? []);
    const sizes = await readBlobSizes(brain.context.repository, oids);
    const sideOf = async (oid: string | null): Promise<ConflictSide | null> => {
      if (oid === null) return null;
      const bytes = sizes.get(oid) ?? null;
      return shownSide(rows, row.file, bytes, bytes === null ? null : await textOf(brain, oid, bytes));
    };
    return allow({ ...row, base: await sideOf(base), ours: await sideOf(ours), theirs: await sideOf(theirs) });
  },
});

async function readable(brain: OpenBrain, id: string, rows: RowView): Promise<StoredConflict | null> {
  const client = poolClient(brain.context.platform.database.pool);
  const found = await readStored(client, brain.context.name, id);
  return found === null || !rows.mayRead(found.file) ? null : found;
}

async function textOf(brain: OpenBrain, oid: string, bytes: number): Promise<string | null> {
  return bytes > MAX_CONTENT_BYTES ? null : decodeText(await readBlob(brain.context.repository, oid));
}

/** Of a file with hidden fields not even the size is told as it is. */
function shownSide(rows: RowView, file: string, bytes: number | null, text: string | null): ConflictSide {
  if (!rows.hides(file)) return { text, bytes };
  const shown = text === null ? null : rows.shown(file, text);
  return { text: shown, bytes: shown === null ? null : Buffer.byteLength(shown) };
}

const ConflictResolved = z.strictObject({
  id: z.string(),
  file: z.string(),
  branch: z.string(),
  changed: z.boolean(),
  /** Of the file now; null when it is gone, or nothing was written. */
  hash: z.string().nullable(),
});
type ConflictResolved = z.output<typeof ConflictResolved>;

const Resolution = z.strictObject({
  id: z.string(),
  take: z.enum(['ours', 'theirs', 'merged', 'content']),
  content: z.string().nullable(),
  ifMatch: z.string().nullable(),
});
type Resolution = z.output<typeof Resolution>;

/** Writes the file like any other write, and closes every open conflict of it. */
export const resolveConflict = defineOperation({
  name: 'resolveConflict',
  effect: 'write',
  question: Resolution,
  answer: once(ConflictResolved, [...WRITE_REFUSALS, 'E_BUSY', 'E_NOT_FOUND', 'E_NOT_TEXT']),
  async run({ brain, context, rows }, op) {
    const { idempotency, platform } = brain.context;
    const client = poolClient(platform.database.pool);
    const stored = await idempotency.find<ConflictResolved, Resolving>(client, context.idempotency);
    if (stored !== null) return { decision: stored, replayed: true };
    const row = await readable(brain, op.id, rows);
    if (row === null) return unkeyed(deny('E_NOT_FOUND', { id: op.id }));
    const denial = rows.writeDenial(row.file);
    if (denial !== null) throw new CallError(denial);
    const writer = await brain.writer(row.branch);
    if (!writer.ok) return unkeyed(writer);
    const written = await takeSide({ brain, context, writer: writer.value, op, rows }, row);
    return written.ok ? close({ brain, context }, writer.value, row, written.value) : unkeyed(written);
  },
});

interface Choice extends Omit<Served, 'retire'> {
  readonly writer: BranchWriter;
  readonly op: Resolution;
}

/** What was written; null = nothing, because the file is as it is wanted. */
async function takeSide(
  { brain, context, writer, op, rows }: Choice,
  row: StoredConflict,
): Promise<Decision<Pick<ConflictResolved, 'hash' | 'changed'>, Resolving>> {
  const kept = { hash: null, changed: false };
  if (op.take === 'merged') return allow(kept);
  const wanted = op.take === 'content' ? allow(op.content) : await textToTake(brain, op, row, rows);
  if (!wanted.ok) return wanted;
  if (wanted.value === AS_IT_IS) return allow(kept);
  const content = wanted.value === null ? null : Buffer.from(wanted.value, 'utf8');
  // A later write has settled it already: taking a side now would undo that write.
  if (row.resolvedAt !== null && op.ifMatch === null) return settledBefore(writer, row, content, rows);
  const request = { path: row.file, content, ifMatch: op.ifMatch, rows };
  const { decision } = await writer.change(request, { ...context, idempotency: null });
  if (decision.ok) {
    const { changed, hash } = decision.value;
    return allow({ changed, hash: content === null ? null : hash });
  }
  return content === null && decision.code === 'E_FILE_ABSENT' ? allow(kept) : decision;
}

async function settledBefore(
  writer: BranchWriter,
  { file, resolvedAt }: StoredConflict,
  content: Buffer | null,
  rows: RowView,
): Promise<Decision<{ readonly hash: null; readonly changed: false }, 'E_CONFLICT'>> {
  const present = (await writer.read(file))?.text ?? null;
  if (!rows.hides(file) && present === (content?.toString('utf8') ?? null))
    return allow({ hash: null, changed: false });
  return deny(
    'E_CONFLICT',
    { file, resolvedAt },
    'The conflict was settled by a later write; give ifMatch to write all the same.',
  );
}

const AS_IT_IS = Symbol('as it is');

/** Null removes the file. Of hidden fields, those of the file as it is stay, like in any write. */
async function textToTake(
  brain: OpenBrain,
  { take }: Resolution,
  row: StoredConflict,
  rows: RowView,
): Promise<Decision<string | null | typeof AS_IT_IS, 'E_NOT_TEXT'>> {
  const oid = take === 'ours' ? row.ours : row.theirs;
  // What no commit holds is ours where it lies in the way: not to be replaced by nothing.
  if (oid === null) return allow(take === 'ours' && row.kind === 'in-the-way' ? AS_IT_IS : null);
  const bytes = (await readBlobSizes(brain.context.repository, [oid])).get(oid);
  const text = bytes === undefined ? null : await textOf(brain, oid, bytes);
  const shown = text === null ? null : rows.shown(row.file, text);
  if (shown !== null) return allow(shown);
  // Ours is what stands where nothing could be merged.
  if (take === 'ours' && bytes !== undefined) return allow(AS_IT_IS);
  const message = `That side is not text of at most 1 MiB; it is in the commit rescue/${row.rescue ?? ''}/${take}.`;
  return deny('E_NOT_TEXT', { file: row.file }, message);
}

function close(
  { brain, context }: Pick<Served, 'brain' | 'context'>,
  writer: BranchWriter,
  { id, file, branch }: StoredConflict,
  written: Pick<ConflictResolved, 'hash' | 'changed'>,
): Promise<Once<ConflictResolved, Resolving>> {
  const { idempotency, name } = brain.context;
  return writer.alone(context.deadlineAt, async () => {
    const answer = await writeSection(brain.context, context.deadlineAt, (section) =>
      idempotency.once<ConflictResolved, Resolving>(section.transaction, context.idempotency, async () => {
        const guarded = written.changed ? allow(null) : await writer.guard(section, context);
        if (!guarded.ok) return guarded;
        await resolveConflicts(section.transaction, name, branch, [file]);
        return allow({ id, file, branch, ...written });
      }),
    );
    if (answer.decision.ok) writer.openConflicts.delete(file);
    return answer;
  });
}
