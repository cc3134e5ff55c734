/** Whether skills are traded at all, and the trades that time has closed. */
import { actingAs, actorName } from '@svc/contract/actor.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { SettingSource } from '@svc/contract/settings.ts';
import { z } from 'zod';
import { defineTool } from '../deps.ts';

const SKILLS = 'market.skillsEnabled';

const sweep = defineTool({
  name: 'market_skill_sweep',
  area: 'market',
  description: 'Close now what time has closed; it is done by itself each minute.',
  input: z.strictObject({}),
  output: z.strictObject({
    swept: z.int(),
    expired: z.array(z.strictObject({ tradeId: z.string(), listingId: z.string().nullable(), from: z.string() })),
    restored: z.int().describe('Supply that can be sold again.'),
    at: TimestampMs,
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  async handler(_input, { deps, caller, now }) {
    const identity = actingAs(caller);
    const closed = await deps.sweep('skill');
    const seen = closed.filter(({ buyer, seller }) => caller.operator || identity === buyer || identity === seller);
    return {
      swept: closed.length,
      expired: seen.map(({ tradeId, listingId, state: from }) => ({ tradeId, listingId, from })),
      restored: closed.filter(({ state }) => state === 'pending_delivery').length,
      at: now,
    };
  },
});

const gate = defineTool({
  name: 'market_skill_gate',
  area: 'market',
  description: 'Whether skills are traded on this node; an operator turns that on or off.',
  input: z.strictObject({ value: z.boolean().optional().describe('Absent = only read.') }),
  output: z.strictObject({
    enabled: z.boolean().describe('In effect.'),
    source: SettingSource,
    changed: z.boolean(),
    shadowedBy: z.literal('environment').optional(),
  }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: [],
  raises: ['FORBIDDEN'],
  async handler({ value }, { deps, caller, idempotency, fail, markReplayed }) {
    if (value === undefined) {
      const { value: enabled, source } = await deps.registry.inspect(SKILLS, caller.registry);
      return { enabled: enabled === true, source, changed: false };
    }
    if (!caller.operator) throw fail('FORBIDDEN', 'Skills are turned on and off by operators.');
    const by = actorName(caller);
    const change = await deps.registry.changeSetting({ key: SKILLS, value, by, operator: true, idempotency });
    if (change.replayed) markReplayed();
    const { value: enabled, source, changed, shadowedBy } = change;
    return { enabled: enabled === true, source, changed, ...(shadowedBy === null ? {} : { shadowedBy }) };
  },
});

export const gateTools = [sweep, gate];
