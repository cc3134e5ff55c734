/** svc_memory_clear and svc_memory_stats: memory as a whole. */
import { z } from 'zod';
import type { CallErrorCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { brainAndBranch, CommitId, leaseGuard, MAX_LIMIT } from '@svc/contract/params.ts';
import { OBJECT_LIMITS } from '../../addresses/address-store.ts';
import { placeToRead } from '../../addresses/tools/place.ts';
import { type BrainDeps, defineTool } from '../../deps.ts';
import { listFiles } from '../../operations/files.ts';
import type { AnswerOf } from '../../operations/operation.ts';
import {
  CHANGE_RAISES,
  opContext,
  READ_RAISES,
  requireWriter,
  resolveTarget,
  resolveWrite,
  settled,
  type Target,
} from '../../tools/target.ts';
import { secondStep } from '../../writer/context.ts';
import { MAX_STORED_KEY } from '../domain/key.ts';
import { LEARNED_FOLDER } from '../domain/learned.ts';
import { MEMORY_LIMITS } from '../domain/state.ts';
import { clearLearned } from '../operations.ts';
import { scopeArguments, scopeOf, shownWorkspace } from './scope.ts';

const CLEAR_REFUSES = [
  'E_LOCKED',
  'E_FENCED',
  'E_READ_ONLY',
  'E_BRAIN_DIVERTED',
  'E_BUSY',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
] as const;

const clear = defineTool({
  name: 'svc_memory_clear',
  area: 'memory',
  description: 'Forgets the values of a workspace, the documents of a brain that were learned, or both.',
  input: z.strictObject({
    what: z.enum(['state', 'learned', 'all']).default('state').describe('learned = the files in memory/.'),
    ...scopeArguments,
    ...brainAndBranch,
    ...leaseGuard,
  }),
  output: z.strictObject({
    cleared: z.literal(true),
    state: z.int().describe('Values.'),
    learned: z.int().describe('Files.'),
    commit: CommitId.nullable().describe('Where the files can still be read (at); null when none were to be cleared.'),
    workspace: shownWorkspace,
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: CLEAR_REFUSES,
  raises: CHANGE_RAISES,
  dress: { cleared: false },
  example: { what: 'learned' },
  async handler({ what, workspace: named, userCtx, ...wish }, context) {
    requireWriter(context.caller);
    const workspace = await scopeOf(context, { workspace: named, userCtx });
    const nothing = { files: 0, commit: null };
    // Files first: somebody may hold the lease, and then nothing is cleared.
    const learned = what === 'state' ? nothing : await clearFiles(context, await resolveWrite(context, wish));
    const { actor: by, idempotency } = secondStep(opContext(context), 'state');
    const values = { ...context, idempotency };
    const state =
      what === 'learned'
        ? 0
        : context.take(settled(context, await context.deps.memory.clear(values, { workspace, by })));
    return { cleared: true as const, state, learned: learned.files, commit: learned.commit, workspace };
  },
});

async function clearFiles(context: Taking, target: Target): Promise<{ files: number; commit: string | null }> {
  const cleared = settled(context, await target.ask(clearLearned, { branch: target.branch }));
  const { files, commit } = context.take(cleared);
  return { files, commit: files === 0 ? null : commit };
}

type Taking = ToolContext<BrainDeps, (typeof CLEAR_REFUSES)[number], CallErrorCode>;

const stats = defineTool({
  name: 'svc_memory_stats',
  area: 'memory',
  description:
    'How much memory holds: values of a workspace, learned documents and addresses of a brain, and the limits.',
  input: z.strictObject({ ...scopeArguments, ...brainAndBranch }),
  output: z.strictObject({
    workspace: shownWorkspace,
    state: z.strictObject({
      keys: z.int(),
      bytes: z.int(),
      expiring: z.int().describe('Keys that end by themselves.'),
    }),
    learned: z.strictObject({ files: z.int(), bytes: z.int() }).describe('Files in memory/ that the caller may read.'),
    addresses: z.strictObject({ objects: z.int(), bytes: z.int() }),
    limits: z.strictObject({
      keys: z.int(),
      valueBytes: z.int(),
      ttlMs: z.int(),
      storedKey: z.int().describe('Characters of a key with the name of its workspace.'),
      objects: z.int(),
      objectBytes: z.int(),
      allObjectsBytes: z.int(),
    }),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BRANCH_ABSENT'],
  raises: [...READ_RAISES, 'RLS_DENIED'],
  async handler({ workspace: named, userCtx, ...wish }, context) {
    const workspace = await scopeOf(context, { workspace: named, userCtx });
    const target = await resolveTarget(context, wish);
    const { brainId } = await placeToRead(context, wish);
    const learned = await countLearned(target);
    const { memory, addresses } = context.deps;
    return {
      workspace,
      state: await memory.use(workspace),
      learned: context.take(learned),
      addresses: await addresses.use(brainId),
      limits: LIMITS,
      brain: target.brain,
      branch: target.branch,
    };
  },
});

const LIMITS = {
  keys: MEMORY_LIMITS.keys,
  valueBytes: MEMORY_LIMITS.valueBytes,
  ttlMs: MEMORY_LIMITS.ttlMs,
  storedKey: MAX_STORED_KEY,
  objects: OBJECT_LIMITS.all.items,
  objectBytes: OBJECT_LIMITS.bytes,
  allObjectsBytes: OBJECT_LIMITS.all.bytes,
};

/** Page by page, as anybody lists files: of what may be read, and as it is shown. */
async function countLearned({
  ask,
  branch,
}: Target): Promise<Decision<{ files: number; bytes: number }, 'E_BRANCH_ABSENT'>> {
  const sum = { files: 0, bytes: 0 };
  const question = {
    branch,
    category: LEARNED_FOLDER,
    at: null,
    limit: MAX_LIMIT,
    withContent: false,
    withTitle: false,
  };
  for (let after: string | null | undefined; after !== null; ) {
    const page: AnswerOf<typeof listFiles> = await ask(listFiles, { ...question, after: after ?? null });
    if (!page.ok) return deny('E_BRANCH_ABSENT', page.details);
    for (const { kind, bytes } of page.value.files) {
      if (kind !== 'text') continue;
      sum.files += 1;
      sum.bytes += bytes;
    }
    after = page.value.next;
  }
  return allow(sum);
}

export const wholeMemoryTools = [clear, stats];
