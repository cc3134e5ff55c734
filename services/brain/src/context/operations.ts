/** What a context is made of, as long as it stays the same. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { viewLease } from '../domain/lease.ts';
import { decision, defineOperation, onBranch } from '../operations/operation.ts';
import { readLastInsights } from '../evolution/evolution-rows.ts';
import { readAttentionOf } from '../relations/relation-rows.ts';
import { readLease } from '../store/lease-store.ts';

/** Of what a workspace learned last, as much as a context tells. */
export const INSIGHTS_TOLD = 10;

/** Equal while neither a file, nor the branch, nor the lease, nor what is attended to or was learned has changed. For comparing alone: it is shown to nobody. */
export const readState = defineOperation({
  name: 'contextState',
  effect: 'read',
  question: z.strictObject({ ...onBranch, workspace: z.string() }),
  answer: decision(z.strictObject({ state: z.string() }), READ_REFUSALS),
  async run({ brain }, { branch, workspace }) {
    const view = await brain.view(branch, null);
    if (!view.ok) return view;
    const tree = (await brain.openTrees()).get(branch)?.tree;
    await tree?.look();
    const changes = tree?.table.changes().map(({ file, change }) => [file, change, tree.table.get(file)?.hash]) ?? [];
    const { context } = brain;
    const client = poolClient(context.platform.database.pool);
    const { lease, now } = await readLease(client, context.name);
    const { agentId } = viewLease(lease, now);
    const { id } = context.homes.home;
    const attended = await readAttentionOf(client, id, workspace);
    const learned = await readLastInsights(client, id, workspace, INSIGHTS_TOLD);
    const parts = [id, branch, view.value.commit, changes, agentId, attended, learned];
    return allow({ state: hash('sha256', JSON.stringify(parts)) });
  },
});
