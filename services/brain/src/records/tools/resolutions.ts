/** svc_resolution_*: what was decided about files. */
import { z } from 'zod';
import { AgentIdText, BranchName } from '@svc/contract/names.ts';
import { brainAndBranch, page, PathText, PlainText, TimestampMs } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { DEFAULT_BRANCH } from '../../domain/stack.ts';
import { nextCursor } from '../../tools/results.ts';
import { CHANGE_RAISES, READ_RAISES, requireWriter, resolveTarget, settled } from '../../tools/target.ts';
import { type Resolution, RESOLUTION_LIMITS } from '../domain/resolution.ts';
import { identifySubject, listResolutions } from '../operations.ts';

const { brain } = brainAndBranch;
const file = PathText.pipe(PlainText.min(1).max(RESOLUTION_LIMITS.fileLength));

const delta = {
  id: z.string(),
  file: z.string(),
  change: z.string(),
  changed_by: z.string().describe('Whose decision it is, as it was said; else who noted it.'),
  by: z.string().nullable().describe('Agent that noted it, as its token says; null without one.'),
  branch: z.string(),
  changedAt: TimestampMs,
};

function shown({ changedBy, at, ...rest }: Resolution) {
  return { ...rest, changed_by: changedBy, changedAt: at };
}

const track = defineTool({
  name: 'svc_resolution_track',
  area: 'resolution',
  description: 'Notes what was decided about a file, such as how a conflict was settled; notes are never changed.',
  input: z.strictObject({
    file: file.describe('Path of a file of the brain, or what else it is about.'),
    change: PlainText.min(1).max(RESOLUTION_LIMITS.changeLength).describe('What was decided.'),
    changed_by: AgentIdText.optional().describe('Whose decision it is; default: the caller.'),
    branch: BranchName.optional().describe('Default main.'),
    brain,
  }),
  output: z.strictObject({ tracked: z.literal(true), ...delta }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_QUOTA'],
  raises: CHANGE_RAISES,
  dress: { tracked: false },
  example: { file: 'learnings/first.md', change: 'Kept both paragraphs.' },
  async handler({ file: subject, change, changed_by: named, branch = DEFAULT_BRANCH, ...wish }, context) {
    requireWriter(context.caller);
    const target = await resolveTarget(context, wish);
    const { id: brainId, resources } = await target.ask(identifySubject, { file: subject });
    const { actor, verifiedAgent: by } = target.op;
    const resolution = { file: subject, change, changedBy: named ?? actor, by, branch };
    const place = { brain: target.brain, brainId };
    const outcome = await context.deps.records.track(context, {
      place,
      resolution: { ...resolution, workspace: null },
      actor,
      resources,
    });
    const noted = context.take(settled(context, outcome));
    return { tracked: true as const, ...shown({ ...resolution, ...noted }) };
  },
});

const list = defineTool({
  name: 'svc_resolution_list',
  area: 'resolution',
  description: 'Lists what was decided about a file, or about all of a brain, newest first.',
  input: z.strictObject({
    file: file.optional().describe('Default: all.'),
    branch: BranchName.optional().describe('Default: notes of all branches.'),
    brain,
    ...page,
  }),
  output: z.strictObject({
    file: z.string().nullable(),
    deltas: z.array(z.strictObject(delta)),
    count: z.int().describe('On this page.'),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  example: { file: 'learnings/first.md' },
  async handler({ file: subject = null, branch = null, limit, cursor, brain: named }, context) {
    const position = positionOf(limit, cursor);
    const { ask } = await resolveTarget(context, { brain: named });
    const workspaces = await context.deps.workspacesOf(context.caller);
    const rows = await ask(listResolutions, { file: subject, branch, workspaces, ...position });
    const { items, next } = nextPage(rows, position, ({ id }) => id);
    return { file: subject, deltas: items.map(shown), count: items.length, ...next };
  },
});

export const resolutionTools = [track, list];
