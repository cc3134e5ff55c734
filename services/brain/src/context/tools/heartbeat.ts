/** Keeping the context of a session at hand. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import { settled } from '../../tools/target.ts';
import { HEARTBEAT } from '../heartbeat-store.ts';

const action = z.enum(['start', 'stop', 'status']);

const heartbeat = defineTool({
  name: 'context_heartbeat',
  area: 'context',
  description:
    'Has the last context of this session built again every four minutes, until it asks for no context for an hour.',
  input: z.strictObject({ action: action.default('status') }),
  output: z.strictObject({
    action,
    running: z.boolean(),
    intervalMs: z.int(),
    beats: z.int().describe('How often it was built again.'),
    lastBeatAt: TimestampMs.nullable(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_LIMIT'],
  example: { action: 'status' },
  async handler({ action: wanted }, context) {
    const { caller, deps } = context;
    const { session, principal, subject, operator } = caller;
    const { heartbeats } = deps.contexts;
    const wish = { session, principal, caller: { subject, operator } };
    const stop = () => heartbeats.stop(context, session);
    const found =
      wanted === 'status'
        ? await heartbeats.touch(session)
        : context.take(settled(context, await (wanted === 'start' ? heartbeats.start(context, wish) : stop())));
    const { beats = 0, lastBeatAt = null } = found ?? {};
    const running = wanted !== 'stop' && found !== null;
    return {
      action: wanted,
      running,
      intervalMs: HEARTBEAT.intervalMs,
      beats,
      lastBeatAt: lastBeatAt === null ? null : Math.round(lastBeatAt),
    };
  },
});

export const heartbeatTools = [heartbeat];
