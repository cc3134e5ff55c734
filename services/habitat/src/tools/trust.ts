/** trust_*: what others think of an entity, and what it may do by that. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { effectiveScore, millionthsOf, QUARANTINE, RELEASE, shownScore, UNRATED } from '../domain/trust.ts';
import { knowsOf, readLeaderboard, readStanding, readVerdict } from '../store/trust-rows.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const score = z.number().min(0).max(1);
const entityId = IdentityId.describe('Agent or user.');
const action = z
  .string()
  .regex(/^[^\p{C}]{1,200}$/u, 'must be 1-200 characters without control characters')
  .describe('Action or permission, such as vote.');
const note = z
  .string()
  .max(500)
  .regex(/^(?:[^\p{Cc}\p{Cs}]|[\n\r\t])*$/u, 'must be text without control characters');

/** What anybody learns of whom they share nothing with, whether there is such an id or not. */
const STRANGER = { standing: UNRATED, known: false, quarantined: false };

const trustGetScore = defineTool({
  name: 'trust_getScore',
  area: 'trust',
  description:
    'The trust score of an entity, 0 to 1; 0.5 when nobody rated it, or when it shares no workspace with the caller.',
  input: z.strictObject({ entityId }),
  output: z.strictObject({ entityId: z.string(), score, karma: z.int(), known: z.boolean(), quarantined: z.boolean() }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { entityId: 'agt_1' },
  async handler({ entityId: id }, { deps, caller }) {
    const { client } = deps.store;
    const read = await readStanding(client, id);
    const isKnown = await knowsOf(client, actorOf(caller), id);
    const { standing, known, quarantined, now } = isKnown ? read : { ...read, ...STRANGER };
    return {
      entityId: id,
      score: shownScore(effectiveScore(standing, now)),
      karma: standing.karma,
      known,
      quarantined,
    };
  },
});

const trustCan = defineTool({
  name: 'trust_can',
  area: 'trust',
  description:
    'Whether an entity is trusted enough for an action, and not in quarantine; one that shares no workspace with the caller is judged as if nobody had rated it.',
  input: z.strictObject({ entityId, action }),
  output: z.strictObject({
    entityId: z.string(),
    action: z.string(),
    allowed: z.boolean(),
    score,
    required: score,
    because: z.enum(['score', 'quarantined']),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { entityId: 'agt_1', action: 'vote' },
  async handler({ entityId: id, action: wanted }, { deps, caller }) {
    const { allowed, because, ...figures } = await readVerdict(deps.store.client, actorOf(caller), id, wanted);
    const [shown, required] = [shownScore(figures.score), shownScore(figures.required)];
    return { entityId: id, action: wanted, allowed, score: shown, required, because };
  },
});

const trustRecord = defineTool({
  name: 'trust_record',
  area: 'trust',
  description:
    'Rates an entity of a shared workspace and another family, which counts once a day from each family; type quarantine stops it from acting (it can still read), type release ends that.',
  input: z
    .strictObject({
      entityId,
      type: z
        .string()
        .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a word of lower-case letters, digits, _ and -')
        .describe('What is rated, such as task; violation, failure, spam, refuted and quarantine are negative.'),
      positive: z.boolean().optional().describe('Default by the type.'),
      value: z.number().positive().max(1).optional().describe('Operators: the step instead of 0.05 or 0.1.'),
      note: note.optional(),
    })
    .refine(({ type, positive }) => type !== QUARANTINE || positive !== true, {
      path: ['positive'],
      message: 'a quarantine is negative',
    })
    .refine(({ type, positive, value }) => type !== RELEASE || (positive === undefined && value === undefined), {
      path: ['type'],
      message: 'a release moves no score',
    }),
  output: z.strictObject({
    entityId: z.string(),
    score,
    delta: z.number(),
    karma: z.int(),
    id: z.string(),
    quarantined: z.boolean(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_SELF_TRUST', 'E_RATE_LIMIT', 'E_NOT_RELATED'],
  example: { entityId: 'agt_1', type: 'task', positive: true },
  async handler({ value, ...input }, context) {
    const { deps, caller } = context;
    if (value !== undefined && !caller.operator) throw new CallError('FORBIDDEN', 'Only an operator sets the value.');
    const wish = { ...input, value: value === undefined ? undefined : millionthsOf(value) };
    const done = settled(context, await deps.store.rate(context, wish));
    return {
      entityId: input.entityId,
      score: shownScore(done.score),
      delta: shownScore(done.delta),
      karma: done.standing.karma,
      id: done.id,
      quarantined: done.quarantined,
    };
  },
});

const trustLeaderboard = defineTool({
  name: 'trust_leaderboard',
  area: 'trust',
  description: 'The most trusted entities that share a workspace with the caller; an operator sees all.',
  input: z.strictObject({ limit: z.int().min(1).max(100).optional().describe('Default 10.') }),
  output: z.strictObject({ leaderboard: z.array(z.strictObject({ id: z.string(), score, karma: z.int() })) }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler({ limit = 10 }, { deps, caller }) {
    const { identity, operator, token } = actorOf(caller);
    const query = { everyone: operator, identity, bound: token?.bound ?? null, limit };
    const rows = await readLeaderboard(deps.store.client, query);
    return { leaderboard: rows.map((row) => ({ ...row, score: shownScore(row.score) })) };
  },
});

const trustSetRequired = defineTool({
  name: 'trust_setRequired',
  area: 'trust',
  description: 'Sets the trust score that an action requires; 0 admits everybody who is not in quarantine.',
  input: z.strictObject({ permission: action, minTrust: score.describe('0 to 1.') }),
  output: z.strictObject({ success: z.literal(true), permission: z.string(), minTrust: score }),
  access: 'operator',
  effect: 'write-idempotent',
  refuses: [],
  example: { permission: 'vote', minTrust: 0.6 },
  async handler({ permission, minTrust }, context) {
    const wish = { permission, minTrust: millionthsOf(minTrust) };
    const outcome = await context.deps.store.setRequired(context, wish);
    return { success: true as const, ...settled(context, outcome) };
  },
});

export const trustTools = [trustGetScore, trustCan, trustRecord, trustLeaderboard, trustSetRequired];
