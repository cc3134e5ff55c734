/** Arguments and answers that the tools of topics share. */
import { IdentityId } from '@svc/contract/names.ts';
import { isServiceTopic } from '@svc/contract/operations.agora.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { z } from 'zod';
import { type Header, VISIBILITIES } from '../domain/ledger.ts';
import { OPTIONS, optionsOf, problemOfOptions } from '../domain/topic.ts';

export const TopicName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,100}$/, 'must be 1-100 letters, digits, underscores or dashes')
  .describe('Topic name.');

export const NewTopicName = TopicName.refine((topic) => !isServiceTopic(topic), {
  message: 'begins like the topic of a service',
});

export const Outcome = z.string().min(1).max(1000).describe('One of the options.');

export const actor = (meaning: string) =>
  IdentityId.optional().describe(`${meaning}; default: the agent of the token or session.`);

export const viewerId = IdentityId.optional().describe('As whom to look; only an operator is believed.');

const MinQuorum = z.int().min(1).max(1000).describe('Ballots that have to count, by heads; default 2.');
const Threshold = z.int().min(50).max(100).describe('Per cent of the weight that wins; default 50: more than half.');
const Sealed = z.boolean().describe('What was voted shows at the deadline only; default false.');
const UseTrustWeight = z.boolean().describe('Ballots weigh as much as their voters are trusted; default false.');

const OWNER = /^(?:team|dept|org|agent|workspace):.{1,128}$/su;

const ScopeWanted = z
  .strictObject({
    owner: z
      .string()
      .regex(OWNER, 'must be team:, dept:, org:, agent: or workspace: and an id')
      .describe('team:<id>, dept:<id>, org:<id>, agent:<id> or workspace:<name>.'),
    visibility: z.enum(VISIBILITIES).optional().describe('public: everybody reads, members vote; default scope.'),
  })
  .describe('Who votes, and who reads; default: everybody.');

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const isMoment = (text: string): boolean => !Number.isNaN(Date.parse(text));

/** Milliseconds since the epoch, or ISO 8601 with an offset. */
const Deadline = z
  .union([z.int().min(0), z.string().regex(MOMENT, 'must be ISO 8601 with an offset').refine(isMoment, 'is no moment')])
  .describe('When it closes: ms since the epoch or ISO 8601 with an offset; default: in 24 hours.');

function deadlineOf(written: z.output<typeof Deadline> | undefined): number | null {
  if (written === undefined) return null;
  return typeof written === 'number' ? written : Date.parse(written);
}

export const Options = z
  .array(z.string().max(1000))
  .min(OPTIONS.least)
  .max(OPTIONS.most)
  .describe('What may be voted for: 2-20 of 1-100 characters.');

/** Throws VAF_INPUT_INVALID. */
export function readOptions(written: readonly string[]): readonly string[] {
  const options = optionsOf(written);
  const problem = problemOfOptions(options);
  if (problem !== null) throw invalidArguments([{ path: 'options', message: problem }]);
  return options;
}

/** How is voted, by whom and until when: the same wherever a topic is opened. */
export const opening = {
  minQuorum: MinQuorum.optional(),
  scope: ScopeWanted.optional(),
  deadline: Deadline.optional(),
  useTrustWeight: UseTrustWeight.optional(),
  threshold: Threshold.optional(),
  sealed: Sealed.optional(),
  agentId: actor('Author'),
};

type Opening = z.output<z.ZodObject<typeof opening>>;
type Chosen = Pick<Header, 'minQuorum' | 'threshold' | 'weighting' | 'sealed'> & { readonly deadline: number | null };

export function chosenIn(wish: Omit<Opening, 'scope' | 'agentId'>): Chosen {
  return {
    minQuorum: wish.minQuorum ?? 2,
    threshold: wish.threshold ?? 50,
    weighting: wish.useTrustWeight === true ? 'trust' : 'equal',
    sealed: wish.sealed ?? false,
    deadline: deadlineOf(wish.deadline),
  };
}
