/** What agora does for other services. */
import { z } from 'zod';
import { SubjectId, WorkspaceName } from './names.ts';
import { defineOperations } from './operation.ts';
import { OutsideSystem, REACH_REFUSES, Reached } from './outside.ts';
import { PlainText } from './params.ts';

/** The first answer is that of the same reference again, which has no second effect. */
const Reference = z.string().min(1).max(200);

/** Votes of crews, under names that follow from the crew: no tool opens a topic of such a name. */
const SERVICE_TOPIC = /^crew-[0-9a-f]{32}-/;

export function isServiceTopic(topic: string): boolean {
  return SERVICE_TOPIC.test(topic);
}

export const AGORA = defineOperations('agora', {
  /** A vote that the asker held: sealed topic, ballots and decision at once. The same again is the first answer. */
  closeout: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      topic: z.string().regex(/^[a-zA-Z0-9_-]{1,100}$/),
      options: z
        .array(
          PlainText.min(1)
            .max(100)
            .refine((option) => option !== '__proto__'),
        )
        .min(2)
        .max(20)
        .refine((options) => new Set(options.map((option) => option.normalize('NFC').trim())).size === options.length),
      minQuorum: z.int().min(1).max(1000),
      /** The owner by its id. */
      scope: z.strictObject({ owner: z.string().min(1).max(200), visibility: z.enum(['scope', 'public']) }).nullable(),
      author: SubjectId,
      ballots: z.array(z.strictObject({ voter: SubjectId, outcome: PlainText.min(1).max(100) })).max(1000),
    }),
    answer: z.strictObject({
      topic: z.string(),
      status: z.enum(['passed', 'rejected', 'expired']),
      winner: z.string().nullable(),
      votes: z.number(),
      percentage: z.number(),
      decidedAt: z.number(),
      hash: z.string(),
    }),
    refuses: ['E_COLLISION', 'E_ALREADY_VOTED', 'E_OUTCOME'],
  },
  /** A message in a channel: once for each reference of the asker. Whether `from` may write there is for the asker to judge. */
  send: {
    effect: 'write-idempotent',
    askers: ['habitat', 'market', 'universe'],
    question: z.strictObject({
      ref: Reference,
      channel: z.string().regex(/^(agent|agents|ws):[A-Za-z0-9._@:/-]{1,152}$/),
      from: SubjectId,
      content: PlainText.min(1).max(16_384),
    }),
    answer: z.strictObject({
      id: z.string(),
      channel: z.string(),
      seq: z.number(),
      from: z.string(),
      at: z.number(),
    }),
  },
  /** A post: once for each reference of the asker. Whether `author` may post there is for the asker to judge. */
  post: {
    effect: 'write-idempotent',
    askers: ['habitat', 'market', 'universe'],
    question: z.strictObject({
      ref: Reference,
      title: PlainText.min(1).max(200),
      content: PlainText.min(1).max(65_536),
      tags: z.array(PlainText.min(1).max(50)).max(20),
      /** Null = everybody's. */
      workspace: WorkspaceName.nullable(),
      author: SubjectId.nullable(),
    }),
    answer: z.strictObject({ id: z.string() }),
  },
  /** The deployments with which this one votes. */
  outside: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({}),
    answer: z.strictObject({ systems: z.array(OutsideSystem) }),
  },
  /** Whether one of them can be heard. */
  reach: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({}),
    answer: Reached,
    refuses: REACH_REFUSES,
  },
});
