/** Every event of the system: who emits it, what it carries, who may hear it. Payloads carry names, never contents. */
import { z } from 'zod';

const Audience = z.enum(['public', 'readers', 'members', 'admins', 'parties', 'operator']);
export type Audience = z.output<typeof Audience>;

interface EventDeclaration {
  readonly service: string;
  readonly meaning: string;
  readonly audience: Audience;
  readonly payload: z.ZodObject;
}

const brainScope = { brain: z.string(), branch: z.string() };
const by = z.string().describe('Actor.');
const resources = z.array(z.string()).describe('Row-rule keys that decide who may hear it.');

export const EVENTS = {
  'brain:change': {
    service: 'brain',
    meaning: 'A brain file was created, updated or deleted.',
    audience: 'readers',
    payload: z.strictObject({
      file: z.string(),
      ...brainScope,
      hash: z.string().nullable(),
      change: z.enum(['created', 'updated', 'deleted']),
      by,
      source: z.enum(['tool', 'external', 'sync', 'recovery']),
      resources,
    }),
  },
  'brain:save': {
    service: 'brain',
    meaning: 'A commit was made.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, commit: z.string(), files: z.int(), by, resources }),
  },
  'brain:created': {
    service: 'brain',
    meaning: 'A brain was created.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), by, resources }),
  },
  'branch:created': {
    service: 'brain',
    meaning: 'A branch was created.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, commit: z.string(), by, resources }),
  },
  'sync:start': {
    service: 'brain',
    meaning: 'A sync began.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, direction: z.enum(['push', 'pull']), remote: z.string(), resources }),
  },
  'sync:complete': {
    service: 'brain',
    meaning: 'A sync ended.',
    audience: 'readers',
    payload: z.strictObject({
      ...brainScope,
      direction: z.enum(['push', 'pull']),
      status: z.string(),
      conflicts: z.int(),
      durationMs: z.number(),
      resources,
    }),
  },
  'sync:error': {
    service: 'brain',
    meaning: 'A sync was refused or failed.',
    audience: 'readers',
    payload: z.strictObject({
      ...brainScope,
      direction: z.enum(['push', 'pull']),
      code: z.string(),
      error: z.string(),
      resources,
    }),
  },
  'lock:acquired': {
    service: 'brain',
    meaning: 'A lease was granted.',
    audience: 'readers',
    payload: z.strictObject({
      brain: z.string(),
      agentId: z.string(),
      fence: z.int(),
      expiresAt: z.number(),
      resources,
    }),
  },
  'lock:released': {
    service: 'brain',
    meaning: 'A lease ended.',
    audience: 'readers',
    payload: z.strictObject({
      brain: z.string(),
      agentId: z.string(),
      fence: z.int(),
      reason: z.enum(['released', 'forced', 'expired']),
      heldMs: z.number(),
      resources,
    }),
  },
} as const satisfies Record<string, EventDeclaration>;

export type EventName = keyof typeof EVENTS;
export type EventPayload<Name extends EventName> = z.output<(typeof EVENTS)[Name]['payload']>;

/** An event as it is stored and carried: common fields beside the payload. */
export interface EventRecord<Name extends EventName = EventName> {
  readonly id: string;
  readonly name: Name;
  readonly at: number;
  readonly node: string;
  /** Workspace whose members may hear it; absent = every reader of its resources. */
  readonly workspace?: string;
  readonly payload: EventPayload<Name>;
}

/** An event on the bus. `position` counts the events of one service without gaps, for the gateways alone. */
export interface PositionedEvent {
  readonly position: number;
  readonly event: EventRecord;
}
