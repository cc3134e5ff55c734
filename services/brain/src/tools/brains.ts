/** Brains as wholes: deleted and renamed by those who have a say where the brain is at home. */
import { z } from 'zod';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { neverDenied } from '@svc/contract/decision.ts';
import { BrainName } from '@svc/contract/names.ts';
import { leaseGuard } from '@svc/contract/params.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { DELETED } from '../brain/brain-moves.ts';
import type { Retired } from '../brain/retirement.ts';
import { type BrainDeps, defineTool } from '../deps.ts';
import { requireHomeAdmin } from './home.ts';
import { retire as retireBrain } from '../operations/retire.ts';
import { type CallContext, type Guard, opContext, CHANGE_RAISES } from './target.ts';

const RETIRE_REFUSES = ['E_LOCKED', 'E_FENCED', 'E_BUSY', 'E_STATE_WRITE'] as const;
const RAISES = [...CHANGE_RAISES, 'VAF_INPUT_INVALID'] as const;

/** Judged before it is looked up, so that nobody learns by it what there is. */
async function mayRetire(context: CallContext, name: string): Promise<void> {
  const { deps, caller } = context;
  if (name === deps.defaultBrain) throw new CallError('VAF_INPUT_INVALID', 'name: the default brain stays');
  const rows = await deps.rules.view(caller.subject, name, caller.registry);
  if (!rows.mayOpen || !(await deps.host.exists(name))) throw new CallError('BRAIN_LOAD_FAIL');
  await requireHomeAdmin(context, name);
}

async function retire(context: CallContext, name: string, to: string | null, guard: Guard) {
  const { deps } = context;
  try {
    return await deps.router.brain(name, opContext(context, guard)).ask(retireBrain, { to });
  } finally {
    deps.sessions.forget();
  }
}

const remove = defineTool({
  name: 'brain_delete',
  area: 'brain',
  description: 'Deletes a brain with all its branches (ours); an operator can bring it back from where it is kept.',
  input: z.strictObject({
    name: BrainName,
    confirm: z.string().describe('The name once more.'),
    ...leaseGuard,
  }),
  output: z.strictObject({
    deleted: z.literal(true),
    name: z.string(),
    kept: z.string().describe('Directory that holds the brain, below the data directory.'),
    restore: z.string().describe('How an operator brings it back.'),
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [...RETIRE_REFUSES, 'E_QUOTA'],
  raises: RAISES,
  dress: { deleted: false },
  aliases: { brain: 'name' },
  example: { name: 'research', confirm: 'research' },
  async handler({ name, confirm, ...guard }, context) {
    const stored = await context.deps.host.retired(context.idempotency);
    if (stored !== null) {
      context.markReplayed();
      return shownDeleted(name, context.take(neverDenied(stored, 'E_DUPLICATE')));
    }
    if (confirm !== name) throw new CallError('VAF_INPUT_INVALID', 'confirm: must be the name of the brain');
    await mayRetire(context, name);
    const outcome = await retire(context, name, null, guard);
    return shownDeleted(name, context.take(neverDenied(outcome.decision, 'E_DUPLICATE')));
  },
});

function shownDeleted(name: string, { folder }: Retired) {
  const kept = `${DELETED}/${folder ?? ''}`;
  const restore = `In the data directory: mv ${kept}/brain brains/${name}; where ${kept}/worktrees exists, mv it to worktrees/${name}. The next call opens the brain at home where it was.`;
  return { deleted: true as const, name, kept, restore };
}

/** After these it may have its new name all the same. */
const IN_DOUBT: ReadonlySet<string> = new Set(['E_OUTCOME_UNKNOWN', 'TIMEOUT', 'INTERNAL']);

/** How many. They are there before it is; where it stays, the name that it does not get is as free as before. */
async function moveWithBoundaries(
  context: ToolContext<BrainDeps, (typeof RETIRE_REFUSES)[number] | 'E_DUPLICATE', (typeof RAISES)[number]>,
  { name, to }: { readonly name: string; readonly to: string },
  guard: Guard,
): Promise<number> {
  const { boundaries } = context.deps;
  const { actor } = opContext(context, guard);
  const before = await boundaries.copy(name, to, actor);
  if (before === null) throw context.refuse('E_DUPLICATE', { name: to });
  try {
    context.take(neverDenied((await retire(context, name, to, guard)).decision, 'E_QUOTA'));
  } catch (error) {
    const isRefused = error instanceof Refusal || (error instanceof CallError && !IN_DOUBT.has(error.code));
    if (isRefused) await boundaries.undo(before, actor);
    throw error;
  }
  // Those that somebody attached to the old name meanwhile.
  const after = await boundaries.copy(name, to, actor);
  return before.length + (after?.length ?? 0);
}

const rename = defineTool({
  name: 'brain_rename',
  area: 'brain',
  description: 'Gives a brain another name (ours); its boundaries and the stacks of all sessions follow.',
  input: z.strictObject({ name: BrainName, to: BrainName.describe('The new name.'), ...leaseGuard }),
  output: z.strictObject({
    renamed: z.literal(true),
    name: z.string(),
    from: z.string(),
    boundaries: z.int().describe('Copied to the new name; the old name keeps its own.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...RETIRE_REFUSES, 'E_DUPLICATE'],
  raises: RAISES,
  dress: { renamed: false },
  aliases: { brain: 'name' },
  example: { name: 'research', to: 'archive' },
  async handler({ name, to, ...guard }, context) {
    const { deps, caller } = context;
    const renamed = (boundaries: number) => ({ renamed: true as const, name: to, from: name, boundaries });
    const stored = await deps.host.retired(context.idempotency);
    if (stored !== null) {
      context.markReplayed();
      context.take(neverDenied(stored, 'E_QUOTA'));
      return renamed(0);
    }
    await mayRetire(context, name);
    const there = await deps.rules.view(caller.subject, to, caller.registry);
    const isOpenThere = there.mayOpen && there.mayChange && there.scopes().every((path) => there.mayWrite(path));
    // A name that is kept for others is answered like one that is in use.
    if (!caller.operator && !isOpenThere) throw context.refuse('E_DUPLICATE', { name: to });
    if (await deps.host.exists(to)) throw context.refuse('E_DUPLICATE', { name: to });
    return renamed(await moveWithBoundaries(context, { name, to }, guard));
  },
});

export const brainTools = [remove, rename];
