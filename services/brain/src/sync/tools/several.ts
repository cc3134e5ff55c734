/** svc_sync_pullAny, svc_sync_pushAll: the brains of a session, or all that the caller may change, with their remotes. */
import { z } from 'zod';
import { Refusal, type RefusalCode } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { leaseGuard } from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import type { StackEntry } from '../../domain/stack.ts';
import { commit } from '../../operations/commit.ts';
import { sync } from '../../operations/sync.ts';
import { CommitMessage } from '../../tools/memory.ts';
import { syncShown } from '../../tools/sync.ts';
import { type CallContext, type Guard, readableBrains, requireWriter } from '../../tools/target.ts';
import { listRemotes, listUnpushed } from '../state.ts';
import { FailedPart, type Part, partOf, refusalOfNone, tryPart } from './parts.ts';

const Synced = z.strictObject(syncShown);
type Synced = z.output<typeof Synced>;

/** Another remote may do where this one did not answer for the brain. */
const NOT_REACHED: readonly string[] = [
  'E_REMOTE_UNREACHABLE',
  'E_REMOTE_TLS',
  'E_REMOTE_AUTH',
  'E_REMOTE_ABSENT',
] satisfies RefusalCode[];

const NO_REMOTE = 'No remote is configured; the operator sets one with SVC_SYNC_REMOTES or HOST_REPO.';

interface Transfer {
  readonly brain: string;
  readonly branch: string;
  readonly remote: string;
  readonly direction: 'push' | 'pull';
  readonly partsLeft: number;
  readonly guard: Guard;
}

function transfer(context: CallContext, { partsLeft, guard, ...wish }: Transfer): Promise<Part<Synced>> {
  const { brain, branch, remote, direction } = wish;
  return tryPart({ brain, branch, remote }, async () => {
    const step = `${direction} ${brain} ${branch} ${remote}`;
    const { ask } = partOf(context, { brain, step, partsLeft, guard });
    const { decision } = await ask(sync, { branch, direction, remote });
    if (!decision.ok) return decision;
    const { conflicts, pulled, ...outcome } = decision.value;
    return { ok: true, value: { brain, ...outcome, pulled: { ...pulled }, conflicts: [...conflicts] } };
  });
}

async function pullEntry(
  context: CallContext,
  { brain, branch, type }: StackEntry,
  { partsLeft, guard }: Pick<Transfer, 'partsLeft' | 'guard'>,
): Promise<Part<Synced>> {
  const place = { brain, branch, remote: null };
  const known = await tryPart(place, async () => {
    if (type === 'public') return deny('E_READ_ONLY', { brain });
    const { remotes } = await partOf(context, { brain, step: 'remotes', partsLeft, guard }).ask(listRemotes, {});
    const [first, ...others] = remotes;
    return first === undefined
      ? deny('E_NOT_CONFIGURED', {}, NO_REMOTE)
      : { ok: true, value: [first, ...others] as const };
  });
  if ('failed' in known) return known;
  const [first, ...others] = known.value;
  const pull = (remote: string, left: number): Promise<Part<Synced>> =>
    transfer(context, { brain, branch, remote, direction: 'pull', guard, partsLeft: partsLeft + left });
  let answer = await pull(first, others.length);
  for (const [index, remote] of others.entries()) {
    if ('value' in answer || !NOT_REACHED.includes(answer.failed.code)) break;
    answer = await pull(remote, others.length - index - 1);
  }
  return answer;
}

/** Besides E_SYNC_FAILED, what every part was refused with. */
const PUSH_REFUSES = ['E_NOT_CONFIGURED', 'E_REMOTE_UNREACHABLE', 'E_REMOTE_ABSENT', 'E_SYNC_FAILED'] as const;
const PULL_REFUSES = [...PUSH_REFUSES, 'E_LOCKED', 'E_FENCED', 'E_READ_ONLY', 'E_BRAIN_DIVERTED'] as const;

const pullAny = defineTool({
  name: 'svc_sync_pullAny',
  area: 'sync',
  description: "Pulls each brain of the session's stack, on its branch there, from its first remote that answers.",
  input: z.strictObject(leaseGuard),
  output: z.strictObject({
    synced: z.literal(true),
    results: z.array(z.union([Synced, FailedPart])).describe('In the order of the stack.'),
  }),
  access: 'identified',
  effect: 'external',
  refuses: PULL_REFUSES,
  raises: ['UNAUTHORIZED', 'FORBIDDEN'],
  dress: { synced: false },
  deadlineMs: 120_000,
  async handler(guard, context) {
    requireWriter(context.caller);
    return once(context, async () => {
      const { stack } = await context.deps.sessions.read(context.caller.session);
      const parts: Part<Synced>[] = [];
      for (const [index, entry] of stack.entries())
        parts.push(await pullEntry(context, entry, { partsLeft: stack.length - index, guard }));
      const failed = parts.flatMap((part) => ('failed' in part ? [part.failed] : []));
      if (failed.length === parts.length) throw refusalOfNone(failed, PULL_REFUSES);
      return { synced: true as const, results: parts.map((part) => ('value' in part ? part.value : part.failed)) };
    });
  },
});

/** A branch with something that remotes lack. */
interface Unpushed {
  readonly brain: string;
  readonly branch: string;
  readonly dirty: boolean;
  readonly remotes: readonly string[];
}

const pushAll = defineTool({
  name: 'svc_sync_pushAll',
  area: 'sync',
  description: 'Commits what is uncommitted and pushes every branch with changes of every brain that you may change.',
  input: z.strictObject({
    message: CommitMessage.optional().describe('Of the commits, default "sync".'),
    ...leaseGuard,
  }),
  output: z.strictObject({
    synced: z.literal(true),
    success: z.boolean().describe('Whether nothing failed.'),
    results: z.array(Synced),
    errors: z.array(FailedPart),
  }),
  access: 'identified',
  effect: 'external',
  refuses: PUSH_REFUSES,
  raises: ['UNAUTHORIZED', 'FORBIDDEN'],
  dress: { synced: false },
  deadlineMs: 120_000,
  async handler({ message = 'sync', ...guard }, context) {
    requireWriter(context.caller);
    return once(context, async () => {
      const { work, errors } = await findWork(context, guard);
      const results: Synced[] = [];
      for (const [index, unpushed] of work.entries()) {
        const done = await pushBranch(context, unpushed, { message, guard, partsLeft: work.length - index });
        results.push(...done.results);
        errors.push(...done.errors);
      }
      if (results.length === 0 && errors.length > 0) throw refusalOfNone(errors, PUSH_REFUSES);
      return { synced: true as const, success: errors.length === 0, results, errors };
    });
  },
});

async function findWork(context: CallContext, guard: Guard): Promise<{ work: Unpushed[]; errors: FailedPart[] }> {
  const { stack } = await context.deps.sessions.read(context.caller.session);
  const isReadOnly = new Set(stack.filter(({ type }) => type === 'public').map(({ brain }) => brain));
  const brains = (await readableBrains(context)).filter(({ name, rows }) => rows.mayChange && !isReadOnly.has(name));
  const work: Unpushed[] = [];
  const errors: FailedPart[] = [];
  const remotes = new Set<string>();
  for (const [index, { name: brain }] of brains.entries()) {
    const found = await tryPart({ brain, branch: null, remote: null }, async () => {
      const part = partOf(context, { brain, step: 'unpushed', partsLeft: brains.length - index + 1, guard });
      return { ok: true, value: await part.ask(listUnpushed, {}) };
    });
    if ('failed' in found) errors.push(found.failed);
    else {
      work.push(...found.value.branches.map((unpushed) => ({ brain, ...unpushed })));
      for (const remote of found.value.remotes) remotes.add(remote);
    }
  }
  if (remotes.size === 0 && errors.length === 0) throw new Refusal('E_NOT_CONFIGURED', {}, NO_REMOTE);
  return { work, errors };
}

/** What another agent's lease keeps from being committed does not keep what is committed from being pushed. */
async function pushBranch(
  context: CallContext,
  { brain, branch, dirty, remotes }: Unpushed,
  { message, guard, partsLeft }: Pick<Transfer, 'guard' | 'partsLeft'> & { readonly message: string },
): Promise<{ results: Synced[]; errors: FailedPart[] }> {
  const results: Synced[] = [];
  const errors: FailedPart[] = [];
  if (dirty) {
    const committed = await tryPart({ brain, branch, remote: null }, async () => {
      const { ask } = partOf(context, { brain, step: `commit ${branch}`, partsLeft, guard });
      return (await ask(commit, { branch, message, only: null })).decision;
    });
    if ('failed' in committed) errors.push(committed.failed);
  }
  for (const [index, remote] of remotes.entries()) {
    const left = partsLeft + remotes.length - index - 1;
    const pushed = await transfer(context, { brain, branch, remote, direction: 'push', guard, partsLeft: left });
    if ('value' in pushed) results.push(pushed.value);
    else errors.push(pushed.failed);
  }
  return { results, errors };
}

/** A keyed call that was answered is answered so again, whatever there would be to do now. */
async function once<Answer>(context: CallContext, work: () => Promise<Answer>): Promise<Answer> {
  const { deps, idempotency } = context;
  const stored = await deps.syncs.answered<Answer>(idempotency);
  const outcome =
    stored === null ? await deps.syncs.keep(idempotency, await work()) : { decision: stored, replayed: true };
  if (outcome.replayed) context.markReplayed();
  if (!outcome.decision.ok) throw new Error('an answer is no refusal');
  return outcome.decision.value;
}

export const severalSyncTools = [pullAny, pushAll];
