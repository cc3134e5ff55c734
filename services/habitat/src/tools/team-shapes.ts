/** How organisations and their parts are shown. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import { PlanName } from '@svc/contract/registry.ts';

export const Permission = z
  .string()
  .regex(/^[A-Za-z0-9._:*-]{1,64}$/, 'must be 1-64 letters, digits or any of . _ : * -')
  .describe('Permission, such as doc:edit.');

export const Org = z.strictObject({
  id: z.string(),
  name: z.string(),
  plan: PlanName,
  desc: z.string(),
  owner: z.string().nullable(),
  confirmed: z.boolean().describe('By an operator; else its permissions and its plan count inside it alone.'),
  createdAt: TimestampMs,
});

export const Dept = z.strictObject({
  id: z.string(),
  name: z.string(),
  org: z.string(),
  desc: z.string(),
  createdAt: TimestampMs,
});

export const Team = Dept.extend({ dept: z.string() });

export const TeamRole = z.strictObject({
  id: z.string(),
  name: z.string(),
  org: z.string(),
  team: z.string().nullable(),
  permissions: z.array(z.string()),
  createdAt: TimestampMs,
});
