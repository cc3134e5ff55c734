/** What clients ask their user about before they call: hints that promise no more than the tools keep. */
import { expect, test } from 'vitest';
import { declaredTools } from './declared-tools.ts';

const tools = (await declaredTools()).flatMap((service) => service.tools);

test('a tool that calls others is as destructive as those may be', () => {
  const tame = tools.filter(({ destructive }) => !destructive).map(({ name }) => name);
  const calling = ['svc_call', 'svc_remote_call', 'recursion_retry', 'cron_run', 'cron_schedule'];
  expect(calling.filter((name) => tame.includes(name))).toEqual([]);
  // So is what takes away what somebody else has: `force` of a lease, and a boundary.
  expect(tame.filter((name) => /_lock$|(?<!s)kill|remove|revoke|delete/i.test(name))).toEqual([]);
});
