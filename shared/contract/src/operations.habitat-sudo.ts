/** What habitat tells of scopes that identities and tasks hold for a time, and the tasks of other services. */
import { z } from 'zod';
import { TokenLimits } from './registry.ts';
import { Subject } from './subject.ts';

/** On whose behalf a service asks: the caller as the door established it. */
const OnBehalfOf = z.strictObject({ subject: Subject, operator: z.boolean(), token: TokenLimits.nullable() });

const TaskText = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);

const TaskScopes = z.strictObject({
  /** Held now. */
  scopes: z.array(z.string()),
  pending: z.array(z.strictObject({ scope: z.string(), requestId: z.string() })),
});

export const HABITAT_SUDO = {
  /** Whether a principal (`agent:<agentId>`, `task:<taskId>`) holds a scope now; `expiresAt` in ms since the epoch. */
  sudo: {
    effect: 'read',
    askers: ['brain', 'universe'],
    question: z.strictObject({ principal: z.string().regex(/^(agent|task):.{1,128}$/), scope: z.string().max(128) }),
    answer: z.strictObject({ allowed: z.boolean(), because: z.string(), expiresAt: z.number().optional() }),
  },
  /** The caller's task of that id, opened if there is none, with the scopes asked for that it does not have yet. */
  beginTask: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      taskId: TaskText,
      scopes: z.array(z.string().max(128)).max(16),
      as: OnBehalfOf,
    }),
    answer: TaskScopes,
    refuses: ['E_QUOTA', 'E_RATE_LIMIT', 'E_SUDO_SCOPE', 'E_SUDO_TASK_EXISTS'],
  },
  /** What a task holds and waits for; null = there is none. */
  task: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({ taskId: TaskText }),
    answer: z.strictObject({ task: TaskScopes.nullable() }),
  },
  /** Takes back all that the caller's task holds or waits for; without such a task nothing happens. */
  endTask: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({ taskId: TaskText, as: OnBehalfOf }),
    answer: z.strictObject({}),
  },
} as const;
