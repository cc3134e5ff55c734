/** svc_health: how this node's brains are. */
import { z } from 'zod';
import { CommitId, TimestampMs } from '@svc/contract/params.ts';
import { LATE, within } from '@svc/runtime/within.ts';
import type { AskedBrain } from '../brain/brain-router.ts';
import { defineTool } from '../deps.ts';
import { BUILTIN_MODEL } from '../embedding/domain/builtin.ts';
import { viewLeaseOf } from '../operations/lease.ts';
import { type BrainSummary, summarise } from '../operations/summary.ts';
import type { BrainProblem } from '../writer/context.ts';
import { brainProblem } from './brain-problem.ts';
import { nodeProblems } from './node-problems.ts';
import { entryKind } from './results.ts';
import { askEveryBrain, type CallContext, resolveTarget } from './target.ts';

/** Of the time of a call, for what is told after the brains were heard. */
const KEPT_MS = 3000;
const SHOWN_UNHEARD = 5;

const problem = z.strictObject({ code: z.string(), text: z.string() });

const health = defineTool({
  name: 'svc_health',
  area: 'core',
  description: 'Shows the state of the brains: files, uncommitted work, queues, index, lease counters, problems.',
  input: z.strictObject({}),
  output: z.strictObject({
    status: z.enum(['ok', 'degraded']),
    uptime: z.number().describe('Seconds.'),
    version: z.string(),
    brains: z.array(
      z.strictObject({
        name: z.string(),
        branches: z.int(),
        files: z.int(),
        dirty: z.int(),
        commit: CommitId.nullable().describe('null = there is no branch main.'),
        remote: z.strictObject({ configured: z.boolean(), ahead: z.int().nullable(), behind: z.int().nullable() }),
        openConflicts: z.int(),
        unserved: z
          .array(z.strictObject({ kind: entryKind, problem: z.string(), count: z.int() }))
          .describe('What lies in the working trees and is not served, and why.'),
        problems: z.array(problem),
      }),
    ),
    lock: z.strictObject({
      held: z.boolean(),
      mutex: z.record(z.string(), z.number()),
      lease: z.record(z.string(), z.number()),
    }),
    queue: z.strictObject({ depth: z.int(), oldestMs: z.number() }),
    index: z
      .strictObject({
        rows: z.int(),
        pending: z.int().describe('Changed files that the next search takes in first.'),
        bytes: z.int(),
        pendingVectors: z.int().describe('Passages whose vectors are still to be made.'),
        embedder: z.string().describe('The model that makes the vectors of a search by meaning.'),
      })
      .describe('Rows and bytes in memory; branches that nobody searches have none there.'),
    git: z.string(),
    problems: z.array(problem),
    timestamp: TimestampMs,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, context) {
    const { deps, now } = context;
    const { summaries, problems, hasTime } = await everySummary(context);
    const { ask } = await resolveTarget(context, {});
    const view = hasTime ? await ask(viewLeaseOf, {}).catch(() => null) : null;
    for (const { name, problems: own } of summaries) {
      problems.push(...own.map(({ code, text }) => ({ code, text: `${name}: ${text}` })));
    }
    problems.push(...(await nodeProblems(context)));
    const endpoint = await deps.meaning.embedder.endpoint(context.caller.registry);
    const trouble = deps.meaning.embedder.trouble() ?? deps.meaning.filler.trouble;
    if (endpoint !== null && trouble !== null)
      problems.push({ code: 'E_EMBEDDER_UNAVAILABLE', text: `The embedder at embed.url ${trouble}.` });
    const { guidance } = deps.layout.status();
    if (guidance !== null) problems.push({ code: 'LEGACY_LAYOUT', text: guidance });
    const own = deps.counters;
    return {
      status: problems.length === 0 ? ('ok' as const) : ('degraded' as const),
      uptime: Math.floor(process.uptime()),
      version: deps.version,
      brains: summaries.map(shownBrain),
      lock: { held: view?.state === 'held', mutex: { ...own.mutex }, lease: { ...own.lease } },
      queue: {
        depth: summaries.reduce((sum, { queue }) => sum + queue.depth, 0),
        oldestMs: Math.max(0, ...summaries.map(({ queue }) => queue.oldestMs)),
      },
      index: {
        rows: summaries.reduce((sum, { index }) => sum + index.rows, 0),
        pending: summaries.reduce((sum, { index }) => sum + index.pending, 0),
        bytes: summaries.reduce((sum, { index }) => sum + index.bytes, 0),
        pendingVectors: summaries.reduce((sum, { index }) => sum + index.pendingVectors, 0),
        embedder: endpoint?.model ?? BUILTIN_MODEL,
      },
      git: deps.gitVersion,
      problems,
      timestamp: now,
    };
  },
});

function shownBrain({ name, branches, files, dirty, commit, remote, openConflicts, ...lists }: BrainSummary) {
  const { unserved, problems } = lists;
  const state = { name, branches, files, dirty, commit, remote: { ...remote }, openConflicts };
  return { ...state, unserved: [...unserved], problems: [...problems] };
}

interface Unheard {
  readonly unheard: string;
}

interface Summaries {
  readonly summaries: readonly BrainSummary[];
  readonly problems: BrainProblem[];
  /** Every brain was heard. */
  readonly hasTime: boolean;
}

/** After a start each brain is opened first, which many take longer for than a call lasts: those are counted, and go on. */
async function everySummary(context: CallContext): Promise<Summaries> {
  const { deps, caller } = context;
  const remains = (): number => caller.deadlineAt - deps.clock.now();
  const kept = Math.min(KEPT_MS, remains() / 4);
  const [summaries, problems, unheard]: [BrainSummary[], BrainProblem[], string[]] = [[], [], []];
  const asked = await askEveryBrain(context, async (brain, name): Promise<BrainSummary | BrainProblem | Unheard> => {
    const time = remains() - kept;
    const summary = time > 0 ? await within(time, summaryOf(context, brain, name)) : LATE;
    return summary === LATE ? { unheard: name } : summary;
  });
  for (const one of asked) {
    if ('unheard' in one) unheard.push(one.unheard);
    else if ('code' in one) problems.push(one);
    else summaries.push(one);
  }
  if (unheard.length > 0) problems.push(unheardProblem(unheard));
  return { summaries, problems, hasTime: unheard.length === 0 };
}

function unheardProblem(names: readonly string[]): BrainProblem {
  const [count, some] = [names.length, names.slice(0, SHOWN_UNHEARD).join(', ')];
  const what = count === 1 ? '1 brain has' : `${count} brains have`;
  const rest = count > SHOWN_UNHEARD ? ' and others' : '';
  return { code: 'TIMEOUT', text: `${what} not answered in the time of this call (${some}${rest}). Ask again.` };
}

/** A brain that cannot be opened is a problem to show, not a failure of the tool. */
async function summaryOf(
  context: CallContext,
  { ask }: AskedBrain,
  name: string,
): Promise<BrainSummary | BrainProblem> {
  try {
    return await ask(summarise, {});
  } catch (error) {
    const { code, text } = brainProblem(context, name, error);
    return { code, text: `${name}: ${text}` };
  }
}

export const healthTools = [health];
