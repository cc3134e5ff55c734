/** svc_succession_info: what a successor of this node's brain takes over, and how trust begins and moves. */
import { z } from 'zod';
import { defineTool } from '../deps.ts';
import { shownScore, TRUST } from '../domain/trust.ts';
import { readSuccession, TRUST_LEVELS } from '../store/succession-row.ts';
import { readRequired } from '../store/trust-rows.ts';

const MONTH_MS = 30 * 86_400_000;

const LEVELS = {
  high: 'The successor takes over everything.',
  medium: 'The successor takes over core files of its choice.',
  low: 'The successor may look things up in the core files.',
  none: 'The successor takes over nothing but the identity.',
} as const satisfies Record<(typeof TRUST_LEVELS)[number], string>;

const sentence = z.string();
const figure = z.number();

const svcSuccessionInfo = defineTool({
  name: 'svc_succession_info',
  area: 'succession',
  description: 'What a successor of the brain takes over, from whom this brain took over, and how trust works here.',
  input: z.strictObject({}),
  output: z.strictObject({
    trustLevel: z.enum(TRUST_LEVELS),
    currentVersion: z.int().describe('Layout of the brains.'),
    previousBrain: z.string().nullable(),
    levels: z.strictObject({ high: sentence, medium: sentence, low: sentence, none: sentence }),
    trust: z.strictObject({
      start: figure,
      positive: figure,
      negative: figure,
      decayPer30d: figure,
      required: z.record(z.string(), figure).describe('Score that an action requires; `default` for all others.'),
    }),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  raises: ['SERVICE_UNAVAILABLE'],
  example: {},
  async handler(_input, { deps }) {
    const { client } = deps.store;
    const [row, required, currentVersion] = await Promise.all([
      readSuccession(client),
      readRequired(client),
      deps.brain.layoutVersion(),
    ]);
    return {
      ...row,
      currentVersion,
      levels: LEVELS,
      trust: {
        start: shownScore(TRUST.start),
        positive: shownScore(TRUST.positive),
        negative: shownScore(TRUST.negative),
        decayPer30d: shownScore(TRUST.decay * (MONTH_MS / TRUST.decayEveryMs)),
        required: { default: shownScore(TRUST.required), ...required },
      },
    };
  },
});

export const successionTools = [svcSuccessionInfo];
