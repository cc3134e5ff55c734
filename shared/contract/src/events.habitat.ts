/** Events of the registry of identities. The workspace they belong to is a field of every event, not of the payload. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';

const role = z.string().describe('Workspace role.');

export const HABITAT_EVENTS = {
  'workspace:created': {
    service: 'habitat',
    meaning: 'A workspace was created.',
    audience: 'parties',
    payload: z.strictObject({ workspaceId: z.string(), owner: z.string().nullable(), by, parties }),
  },
  'role:granted': {
    service: 'habitat',
    meaning: 'An identity got a role.',
    audience: 'members',
    payload: z.strictObject({ userId: z.string(), role, by }),
  },
  'role:revoked': {
    service: 'habitat',
    meaning: 'An identity lost a role.',
    audience: 'members',
    payload: z.strictObject({ userId: z.string(), role, by }),
  },
  'policy:changed': {
    service: 'habitat',
    meaning: 'A boundary was set.',
    audience: 'admins',
    payload: z.strictObject({ resource: z.string(), version: z.int(), by }),
  },
  'policy:removed': {
    service: 'habitat',
    meaning: 'A boundary was taken away.',
    audience: 'admins',
    payload: z.strictObject({ resource: z.string(), by }),
  },
  'access:denied': {
    service: 'habitat',
    meaning: 'An explicit check was denied.',
    audience: 'admins',
    payload: z.strictObject({
      resource: z.string(),
      mode: z.enum(['read', 'write']),
      because: z.string(),
      userId: z.string().optional(),
    }),
  },
  'token:minted': {
    service: 'habitat',
    meaning: 'A token was minted.',
    audience: 'parties',
    payload: z.strictObject({ tokenId: z.string(), agentId: z.string(), expiresAt: z.number(), by, parties }),
  },
  'token:revoked': {
    service: 'habitat',
    meaning: 'A token ended before its time.',
    audience: 'parties',
    payload: z.strictObject({ tokenId: z.string(), agentId: z.string(), by, parties }),
  },
  'agent:spawned': {
    service: 'habitat',
    meaning: 'An agent was spawned.',
    audience: 'members',
    payload: z.strictObject({ agentId: z.string(), name: z.string(), role: z.string().nullable(), by }),
  },
  'agent:killed': {
    service: 'habitat',
    meaning: 'An agent was killed.',
    audience: 'members',
    payload: z.strictObject({ agentId: z.string(), by }),
  },
  'agent:delegated': {
    service: 'habitat',
    meaning: 'A task was put into the inbox of an agent.',
    audience: 'parties',
    payload: z.strictObject({ agentId: z.string(), taskId: z.string(), stream: z.string(), by, parties }),
  },
  'agent:messaged': {
    service: 'habitat',
    meaning: 'A message was sent to the agents of a workspace.',
    audience: 'members',
    payload: z.strictObject({ messageId: z.string(), channel: z.string(), count: z.int(), by }),
  },
  'org:created': {
    service: 'habitat',
    meaning: 'An organisation was created.',
    audience: 'parties',
    payload: z.strictObject({ org: z.string(), name: z.string(), plan: z.string(), by, parties }),
  },
  'org:confirmed': {
    service: 'habitat',
    meaning: 'An operator confirmed an organisation, or took that back; its plan is as told.',
    audience: 'parties',
    payload: z.strictObject({ org: z.string(), confirmed: z.boolean(), plan: z.string(), by, parties }),
  },
  'dept:created': {
    service: 'habitat',
    meaning: 'A department was created.',
    audience: 'parties',
    payload: z.strictObject({ dept: z.string(), org: z.string(), name: z.string(), by, parties }),
  },
  'team:created': {
    service: 'habitat',
    meaning: 'A team was created.',
    audience: 'parties',
    payload: z.strictObject({ team: z.string(), org: z.string(), name: z.string(), by, parties }),
  },
  'teamrole:created': {
    service: 'habitat',
    meaning: 'A team role was created.',
    audience: 'parties',
    payload: z.strictObject({ role: z.string(), org: z.string(), name: z.string(), by, parties }),
  },
  'team:assigned': {
    service: 'habitat',
    meaning: 'An agent was assigned to a place in an organisation.',
    audience: 'parties',
    payload: z.strictObject({ agentId: z.string(), org: z.string(), team: z.string().nullable(), by, parties }),
  },
  'team:left': {
    service: 'habitat',
    meaning: 'An agent has no place in an organisation any more.',
    audience: 'parties',
    payload: z.strictObject({ agentId: z.string(), org: z.string(), by, parties }),
  },
  'trust:recorded': {
    service: 'habitat',
    meaning: 'A rating was recorded.',
    audience: 'parties',
    payload: z.strictObject({
      entityId: z.string(),
      type: z.string(),
      delta: z.number(),
      score: z.number(),
      by,
      parties,
    }),
  },
  'trust:quarantined': {
    service: 'habitat',
    meaning: 'An entity was quarantined.',
    audience: 'parties',
    payload: z.strictObject({ entityId: z.string(), by, parties }),
  },
  'trust:released': {
    service: 'habitat',
    meaning: 'An entity was released from quarantine.',
    audience: 'parties',
    payload: z.strictObject({ entityId: z.string(), by, parties }),
  },
  'trust:required': {
    service: 'habitat',
    meaning: 'The score that an action requires was set.',
    audience: 'operator',
    payload: z.strictObject({ permission: z.string(), minTrust: z.number(), by }),
  },
  'sudo:requested': {
    service: 'habitat',
    meaning: 'A scope was asked for.',
    audience: 'admins',
    payload: z.strictObject({ principal: z.string(), scope: z.string(), requestId: z.string(), by }),
  },
  'sudo:granted': {
    service: 'habitat',
    meaning: 'A scope was granted.',
    audience: 'parties',
    payload: z.strictObject({ principal: z.string(), scope: z.string(), expiresAt: z.number(), by, parties }),
  },
  'sudo:revoked': {
    service: 'habitat',
    meaning: 'A scope was taken back.',
    audience: 'parties',
    payload: z.strictObject({ principal: z.string(), scope: z.string(), by, parties }),
  },
  'sudo:denied': {
    service: 'habitat',
    meaning: 'A request for a scope was denied.',
    audience: 'parties',
    payload: z.strictObject({ principal: z.string(), scope: z.string(), by, parties }),
  },
  'governance:decided': {
    service: 'habitat',
    meaning: 'A decision was recorded.',
    audience: 'members',
    payload: z.strictObject({
      decision: z.string(),
      topic: z.string(),
      allowed: z.boolean(),
      standing: z.boolean(),
      by,
    }),
  },
  'config:changed': {
    service: 'habitat',
    meaning: 'A setting was set or unset.',
    audience: 'operator',
    payload: z.strictObject({ key: z.string().describe('Its key; never its value.'), by }),
  },
  'market:gate-changed': {
    service: 'habitat',
    meaning: 'The trade of skills was turned on or off.',
    audience: 'public',
    payload: z.strictObject({ enabled: z.boolean(), by: z.string() }),
  },
  'audit:broken': {
    service: 'habitat',
    meaning: 'A chain of the audit does not verify.',
    audience: 'operator',
    payload: z.strictObject({ chain: z.string(), seq: z.int().nullable() }),
  },
} as const satisfies Record<string, EventDeclaration>;
