/** What this node can be configured to reach. */
import { actorName } from '@svc/contract/actor.ts';
import { allow } from '@svc/contract/decision.ts';
import { REACH_REFUSES } from '@svc/contract/outside.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineDoorTool } from '../doors-deps.ts';
import type { Connectors } from './connectors.ts';

type Reaching = Awaited<ReturnType<Connectors['reach']>>;

const list = defineDoorTool({
  name: 'svc_connector_list',
  area: 'connectors',
  description:
    'The outside systems that this node can be configured for, which settings they lack, and whether they answer.',
  input: z.strictObject({}),
  output: z.strictObject({
    connectors: z.array(
      z.strictObject({
        service: z.string(),
        kind: z.string(),
        configured: z.boolean(),
        missing: z.array(z.string()).describe('Names of settings.'),
        state: z
          .enum(['up', 'down', 'unknown', 'off'])
          .describe(
            'unknown: configured, and nobody tried yet, or its service does not say so now; off: not configured.',
          ),
        checkedAt: TimestampMs.nullable(),
      }),
    ),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps }) {
    const connectors = await deps.connectors.list();
    return { connectors: connectors.map(({ missing, ...rest }) => ({ ...rest, missing: [...missing] })) };
  },
});

const connect = defineDoorTool({
  name: 'svc_connector_connect',
  area: 'connectors',
  description: 'Tries now, once, to reach an outside system, and tells what answered.',
  input: z.strictObject({ service: z.string().min(1).max(100).describe('As svc_connector_list names it.') }),
  output: z.strictObject({
    service: z.string(),
    connected: z.literal(true),
    latencyMs: z.number(),
    detail: z.string(),
  }),
  access: 'operator',
  effect: 'external',
  refuses: ['E_CONNECTOR_ABSENT', ...REACH_REFUSES],
  dress: { connected: false },
  example: { service: 'postgres' },
  async handler({ service }, context) {
    const { deps, caller } = context;
    const outcome = await deps.keyedRuns.once<Reaching, never>(context, async () => {
      const decision = await deps.connectors.reach(service);
      const error = decision.ok ? null : decision.code;
      if (error === 'E_CONNECTOR_ABSENT' || error === 'E_NOT_CONFIGURED')
        return { decision: allow(decision), replayed: false };
      const payload = { by: actorName(caller), connector: service, code: error };
      const event = { name: 'connector:checked', payload } as const;
      return deps.contacts.note<Reaching>(context, service, { error, event, answer: decision });
    });
    return { service, connected: true as const, ...context.take(settled(context, outcome), { service }) };
  },
});

export const connectorTools = [list, connect];
