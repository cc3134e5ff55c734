/** Which nodes there are, and what goes on between them. */
import { TimestampMs } from '@svc/contract/params.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { HMAC } from '../domain/keys.ts';
import { MESSAGE_TYPES } from '../domain/messages.ts';

const noArguments = z.strictObject({});

const Peer = z.strictObject({
  name: z.string(),
  port: z.int().nullable(),
  agentId: z.string().nullable().describe('In whose name it votes here; null = nobody yet.'),
  source: z.enum(['config', 'presence']),
  online: z.boolean().describe('Heard within 30 seconds.'),
  lastSeenAt: TimestampMs.nullable(),
  skewMs: z.number().nullable().describe('Its clock less that of this node.'),
  conflict: z.boolean().describe('Two deployments say that they are it; none of them is asked.'),
});

const nodes = defineTool({
  name: 'agora_nodes',
  area: 'sync',
  description: 'This node and the others that it can vote with.',
  input: noArguments,
  output: z.strictObject({
    self: z.strictObject({
      name: z.string().nullable(),
      port: z.int().nullable(),
      agentId: z.string().nullable(),
      configured: z.boolean(),
      listening: z.boolean(),
      auth: z.enum(['hmac', 'ed25519']).nullable(),
      keyId: z.string().nullable(),
      conflict: z
        .boolean()
        .describe('Another deployment is this node too, with its key: a copy, or a backup put back.'),
    }),
    peers: z.array(Peer),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(_none, { deps: { node } }) {
    const { member } = node;
    if (member === null) {
      const unnamed = { name: null, port: null, agentId: null, auth: null, keyId: null };
      return { self: { ...unnamed, configured: false, listening: false, conflict: false }, peers: [] };
    }
    const { name, port, agentId } = member.identity;
    const { keyId } = member.keyring;
    const auth = keyId === HMAC ? ('hmac' as const) : ('ed25519' as const);
    const state = { configured: true, listening: member.isListening(), conflict: member.hasDouble() };
    return { self: { name, port, agentId, auth, keyId, ...state }, peers: await member.peers.list() };
  },
});

const Count = z.int();

const status = defineTool({
  name: 'agora_sync_status',
  area: 'sync',
  description:
    'Whether this node speaks with others, what is missing for that, what is under way and what was dropped.',
  input: noArguments,
  output: z.strictObject({
    configured: z.boolean(),
    missing: z.array(z.string()),
    dispatchers: z.array(z.string()),
    node: z.strictObject({
      name: z.string().nullable(),
      agentId: z.string().nullable(),
      port: z.int().nullable(),
    }),
    pending: Count.describe('Questions to others that wait for their answer.'),
    roundTrips: z.array(z.strictObject({ node: z.string(), type: z.string(), topic: z.string(), ageMs: z.number() })),
    replicas: Count.describe('Topics of other nodes that are kept here.'),
    counters: z.strictObject({
      sent: Count,
      received: Count,
      accepted: Count,
      rejected: z.strictObject({
        size: Count,
        unknown: Count,
        misdirected: Count,
        stale: Count,
        signature: Count,
        replay: Count,
        schema: Count,
        quota: Count,
      }),
    }),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(_none, { deps: { node, federatedLedgers }, now }) {
    const { missing, member } = node;
    const replicas = await federatedLedgers.countAllReplicas();
    if (member === null) return { ...SILENT, missing: [...missing], replicas };
    const { name, agentId, port } = member.identity;
    const roundTrips = member.asker.roundTrips().map(({ since, ...trip }) => ({ ...trip, ageMs: now - since }));
    return {
      configured: true,
      missing: [],
      dispatchers: member.isListening() ? [...MESSAGE_TYPES] : [],
      node: { name, agentId, port },
      pending: roundTrips.length,
      roundTrips,
      replicas,
      counters: await member.traffic.read(member.store.client),
    };
  },
});

const SILENT = {
  configured: false,
  dispatchers: [],
  node: { name: null, agentId: null, port: null },
  pending: 0,
  roundTrips: [],
  counters: {
    sent: 0,
    received: 0,
    accepted: 0,
    rejected: { size: 0, unknown: 0, misdirected: 0, stale: 0, signature: 0, replay: 0, schema: 0, quota: 0 },
  },
};

export const nodeTools = [nodes, status];
