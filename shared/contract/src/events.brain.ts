/** Events of the brain. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';
import { MEMORY_EVENTS } from './events.memory.ts';
import { TEMPORARY_EVENTS } from './events.temporary.ts';
import { RELATION_EVENTS } from './events.relations.ts';

const brainScope = { brain: z.string(), branch: z.string() };
const resources = z.array(z.string()).describe('Row-rule keys that decide who may hear it.');

export const BRAIN_EVENTS = {
  ...MEMORY_EVENTS,
  ...TEMPORARY_EVENTS,
  ...RELATION_EVENTS,
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
      source: z.enum(['tool', 'external', 'sync', 'merge', 'recovery']),
      resources,
    }),
  },
  'brain:config-changed': {
    service: 'brain',
    meaning: "A key of a brain's own configuration was set or unset; brain:change tells of its file.",
    audience: 'readers',
    payload: z.strictObject({ key: z.string().describe('Never its value.'), ...brainScope, by, resources }),
  },
  'brain:save': {
    service: 'brain',
    meaning: 'A commit was made.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, commit: z.string(), files: z.int(), by, resources }),
  },
  'brain:progress': {
    service: 'brain',
    meaning: 'How far work is that takes long and goes on by itself.',
    audience: 'readers',
    payload: z.strictObject({
      ...brainScope,
      what: z.enum(['commit', 'merge']),
      done: z.int().describe('Files that are stored, or put in place.'),
      total: z.int(),
      resources,
    }),
  },
  'brain:created': {
    service: 'brain',
    meaning: 'A brain was created.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), by, resources }),
  },
  'brain:deleted': {
    service: 'brain',
    meaning: 'A brain was deleted; what it was is kept for operators.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), by, resources }),
  },
  'backup:created': {
    service: 'brain',
    meaning: 'A backup of a brain was made.',
    audience: 'readers',
    payload: z.strictObject({
      brain: z.string(),
      path: z.string().describe('Name of the file in `backups`.'),
      bytes: z.int(),
      sha256: z.string(),
      by,
      resources,
    }),
  },
  'brain:restored': {
    service: 'brain',
    meaning: 'A backup took the place of a brain.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), path: z.string(), by, resources }),
  },
  'brain:renamed': {
    service: 'brain',
    meaning: 'A brain has another name.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), to: z.string(), by, resources }),
  },
  'branch:created': {
    service: 'brain',
    meaning: 'A branch was created.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, commit: z.string(), by, resources }),
  },
  'branch:merged': {
    service: 'brain',
    meaning: 'Another line of history was merged into a branch.',
    audience: 'readers',
    payload: z.strictObject({
      ...brainScope,
      from: z.string(),
      commit: z.string(),
      status: z.string(),
      by,
      resources,
    }),
  },
  'branch:deleted': {
    service: 'brain',
    meaning: 'A branch was deleted; its last commit can be read as rescue/<rescue>/branch.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, rescue: z.string(), by, resources }),
  },
  'branch:renamed': {
    service: 'brain',
    meaning: 'A branch was renamed.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, to: z.string(), by, resources }),
  },
  'sync:start': {
    service: 'brain',
    meaning: 'A sync began.',
    audience: 'readers',
    payload: z.strictObject({ ...brainScope, direction: z.enum(['push', 'pull']), remote: z.string(), resources }),
  },
  'sync:progress': {
    service: 'brain',
    meaning: 'A transfer that takes longer than two seconds goes on; at most one a second.',
    audience: 'readers',
    payload: z.strictObject({
      ...brainScope,
      direction: z.enum(['push', 'pull']),
      remote: z.string(),
      stage: z
        .enum(['counting', 'compressing', 'receiving', 'resolving', 'writing', 'unpacking', 'checking'])
        .describe('What git is doing. Numbers of objects are not told: they count what a listener may not read.'),
      percent: z.int().nullable().describe('Of this stage; null while it is not known.'),
      resources,
    }),
  },
  'sync:complete': {
    service: 'brain',
    meaning: 'A sync ended. Status fetched: a transfer that outlived its call did; the next pull brings it in.',
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
  'island:created': {
    service: 'brain',
    meaning: 'An island was created.',
    audience: 'readers',
    payload: z.strictObject({ island: z.string(), ...brainScope, by, resources }),
  },
  'island:updated': {
    service: 'brain',
    meaning: 'Triggers or the enabled flag of an island changed.',
    audience: 'readers',
    payload: z.strictObject({ island: z.string(), ...brainScope, by, resources }),
  },
  'island:deleted': {
    service: 'brain',
    meaning: 'An island was deleted.',
    audience: 'readers',
    payload: z.strictObject({ island: z.string(), ...brainScope, by, resources }),
  },
  'island:denied': {
    service: 'brain',
    meaning: "The boundary of an island denied access; its workspace is the boundary's container.",
    audience: 'admins',
    payload: z.strictObject({
      island: z.string(),
      mode: z.enum(['read', 'write']),
      op: z.enum(['load', 'hydrate', 'save']),
      userId: z.string().optional().describe('Absent = anonymous.'),
      because: z.string(),
      container: z.string(),
    }),
  },
} as const satisfies Record<string, EventDeclaration>;
