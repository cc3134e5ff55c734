/** What a branch has on its own is put on top of what the remote has; when anything clashes, nothing moves. */
import { z } from 'zod';
import { allow, deny } from '@svc/contract/decision.ts';
import { integrate, integrationRequest } from '../brain/integrate.ts';
import type { Conflict } from '../domain/merge/tree.ts';
import { rescueMoves } from '../git/integration.ts';
import { MAX_REPLAYED, planRebase, type RebasePlan } from '../git/rebase.ts';
import { moveRefs, rescueStamp } from '../git/refs.ts';
import { defineOperation, onBranch, once } from '../operations/operation.ts';
import {
  commitLocal,
  fetchTheirs,
  INTEGRATIONS,
  nothingThere,
  outcomeOf,
  type Sync,
  type SyncAnswer,
  syncBranch,
  tried,
} from '../operations/sync.ts';
import { SYNC_REFUSALS, SyncOutcome } from '../operations/sync-outcome.ts';
import { writeSection } from '../writer/context.ts';

const Rebased = SyncOutcome.extend({ replayed: z.number() });
type Answer = SyncAnswer<z.output<typeof Rebased>>;

export const rebase = defineOperation({
  name: 'rebase',
  effect: 'write',
  needs: 'change',
  question: z.strictObject({ ...onBranch, remote: z.string() }),
  answer: once(Rebased, SYNC_REFUSALS),
  run: ({ brain, context, rows }, question) =>
    syncBranch(brain, { ...question, direction: 'rebase', context, rows }, (sync) => tried(sync, attempt)),
});

async function attempt(sync: Sync): Promise<Answer> {
  const found = await fetchTheirs(sync);
  if (!found.ok) return found;
  const { theirs, rewrite } = found.value;
  if (theirs === null) {
    const outcome = await nothingThere(sync, 'rebase');
    return outcome.ok ? allow({ ...outcome.value, replayed: 0 }) : outcome;
  }
  for (let round = 0; round < INTEGRATIONS; round += 1) {
    const committed = await commitLocal(sync);
    if (!committed.ok) return committed;
    const answer = await onTopOf(sync, theirs);
    if (answer === null) continue; // somebody wrote in between
    if (!answer.ok || rewrite === null) return answer;
    return allow({ ...answer.value, rewritten: true, rescue: answer.value.rescue ?? rewrite });
  }
  return deny('E_BUSY', { retryAfterMs: 1000 });
}

/** Null when the branch went on meanwhile. */
async function onTopOf(sync: Sync, theirs: string): Promise<Answer | null> {
  const { brain, remote, branch, writer, op } = sync;
  const wish = { context: op.context, theirs, source: `${remote.name}/${branch}` };
  const request = integrationRequest(brain, branch, wish, await brain.presentHead(branch));
  const made = await planRebase(brain.context.repository, request);
  if (made.end === 'too-many') return deny('E_LIMIT', { limit: MAX_REPLAYED, commits: made.commits });
  if (made.end === 'clash') return keepBoth(sync, request, made);
  const { plan, replayed } = made;
  const integrated = await integrate(brain, writer, { ...wish, rows: op.rows, plan });
  if (integrated === null || !integrated.ok) return integrated;
  const outcome = await outcomeOf(sync, 'rebase', integrated.value, theirs);
  return allow({ ...outcome, rescue: outcome.rescue ?? plan.rescue, replayed });
}

/** Both tips stay readable; the branch, its files and its conflicts are as they were. */
async function keepBoth(
  sync: Sync,
  { ours, theirs, at, rescueSuffix }: ReturnType<typeof integrationRequest>,
  { conflicts }: Extract<RebasePlan, { end: 'clash' }>,
): Promise<Answer> {
  const { brain, writer, op } = sync;
  const rescue = `${rescueStamp(at)}-${rescueSuffix}`;
  const guarded = await writer.alone(op.context.deadlineAt, () =>
    writeSection(brain.context, op.context.deadlineAt, async (section) => {
      const allowed = await writer.guard(section, op.context);
      if (allowed.ok) await moveRefs(brain.context.repository, rescueMoves(rescue, ours, theirs), at);
      return allowed;
    }),
  );
  if (!guarded.ok) return guarded;
  return deny('E_SYNC_CONFLICT', { conflicts: shownClashes(sync, conflicts), rescue });
}

function shownClashes({ writer, op: { rows } }: Sync, conflicts: readonly Conflict[]) {
  return conflicts.flatMap(({ file: onDisk, kind, ours, theirs }) => {
    const file = writer.tree.table.pathOf(onDisk);
    if (!rows.mayRead(file)) return [];
    return [rows.hides(file) ? { file, kind, ours: null, theirs: null } : { file, kind, ours, theirs }];
  });
}
