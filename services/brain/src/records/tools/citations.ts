/** svc_citations_*: commits that somebody refers to, each with what for. */
import { z } from 'zod';
import { Refusal } from '@svc/contract/codes.ts';
import { brainAndBranch, leaseGuard, page, PlainText, TimestampMs } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { nextCursor } from '../../tools/results.ts';
import { CHANGE_RAISES, READ_RAISES, resolveTarget, resolveWrite, settled } from '../../tools/target.ts';
import { CITATION_LIMITS, quoted } from '../domain/citation.ts';
import { findCitation, identifyCommit, listCitations } from '../operations.ts';

const { brain } = brainAndBranch;
const CITED = /^[A-Za-z0-9._/-]{1,100}$/;
const commit = z.string().describe('As it is stored: the whole id when it is known to be one.');
const verified = z.boolean().describe('It is the id of a commit of this brain.');

const add = defineTool({
  name: 'svc_citations_add',
  area: 'citations',
  description: 'Notes that a commit of the brain, or something that is called like one, was referred to, and what for.',
  input: z.strictObject({
    commit: z
      .string()
      .regex(CITED, 'must be 1-100 letters, digits, dots, underscores, slashes or dashes')
      .describe('Id of a commit, or enough of its beginning; anything else is kept as it is.'),
    context: PlainText.max(CITATION_LIMITS.contextLength).optional().describe('What it is referred to for.'),
    brain,
    ...leaseGuard,
  }),
  output: z.strictObject({ added: z.literal(true), id: z.string(), commit, context: z.string(), verified }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_LOCKED', 'E_FENCED', 'E_READ_ONLY', 'E_CITED', 'E_QUOTA'],
  raises: CHANGE_RAISES,
  dress: { added: false },
  example: { commit: 'a1b2c3d', context: 'why the gate stays shut at night' },
  async handler({ commit: text, context: about = '', ...wish }, context) {
    const target = await reasoned(resolveWrite(context, wish));
    const { id: brainId, shown, ...named } = await target.ask(identifyCommit, { text });
    const { actor: by } = target.op;
    const outcome = await context.deps.records.cite(context, {
      place: { brain: target.brain, brainId },
      citation: { ...named, context: about, by },
      guard: target.op,
    });
    const { id } = await reasoned((async () => context.take(settled(context, outcome)))());
    return { added: true as const, id, commit: shown, context: about, verified: named.verified };
  },
});

/** A refusal that says why in `reason` too. */
async function reasoned<Value>(work: Promise<Value>): Promise<Value> {
  return work.catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    const { code, details, message } = error;
    throw new Refusal(code, { ...details, reason: message }, message);
  });
}

const list = defineTool({
  name: 'svc_citations_list',
  area: 'citations',
  description: 'Lists the citations of a brain, newest first.',
  input: z.strictObject({ brain, ...page }),
  output: z.strictObject({
    count: z.int().describe('On this page.'),
    sources: z.array(
      z.strictObject({ id: z.string(), commit, context: z.string(), verified, by: z.string(), at: TimestampMs }),
    ),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const position = positionOf(limit, cursor);
    const { ask } = await resolveTarget(context, wish);
    const { items, next } = nextPage(await ask(listCitations, position), position, ({ id }) => id);
    return { count: items.length, sources: [...items], ...next };
  },
});

const format = defineTool({
  name: 'svc_citations_format',
  area: 'citations',
  description: 'Writes the last citation of a commit as a text that quotes it.',
  input: z.strictObject({
    commit: z.string().regex(CITED).min(4).describe('What was cited, or at least 4 characters of its beginning.'),
    brain,
  }),
  output: z.union([
    z.strictObject({ commit, cited: z.literal(true), citation: z.string() }),
    z.strictObject({ commit: z.string(), cited: z.literal(false), citation: z.null() }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: ['E_REF_AMBIGUOUS'],
  raises: READ_RAISES,
  example: { commit: 'a1b2c3d' },
  async handler({ commit: text, ...wish }, context) {
    const { ask } = await resolveTarget(context, wish);
    const cited = context.take(await ask(findCitation, { text }));
    if (cited === null) return { commit: text, cited: false as const, citation: null };
    return { commit: cited.commit, cited: true as const, citation: quoted(cited) };
  },
});

export const citationTools = [add, list, format];
