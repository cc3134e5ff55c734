/** Arguments and results that the tools of scopes share. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import { type Decision, deny, allow } from '@svc/contract/decision.ts';
import { parseScope, type Scope } from '../domain/sudo-scopes.ts';
import type { Escalation } from '../store/sudo-store.ts';

export const TaskId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be 1-128 letters, digits, dots, underscores or dashes')
  .describe('Task id.');
export const ScopeText = z
  .string()
  .min(1)
  .max(128)
  .describe(
    'Scope (read, write, network, exec, spawn, sudo, admin), its capability name, or a part such as network:<host>.',
  );

export const escalationShown = z.strictObject({
  granted: z.boolean(),
  pending: z.boolean(),
  scope: z.string(),
  requestId: z.string().optional(),
  expiresAt: TimestampMs.describe('End of the grant, or of the request that waits.'),
});

export function shownEscalation({ granted, scope, requestId, expiresAt }: Escalation) {
  return { granted, pending: !granted, scope, ...(requestId === null ? {} : { requestId }), expiresAt };
}

export const permissionShown = {
  allowed: z.boolean(),
  because: z.string().describe('The scope that allows it, no-grant, or unknown-action.'),
  expiresAt: TimestampMs.optional(),
};

export function scopeNamed(text: string): Decision<Scope, 'E_SUDO_SCOPE'> {
  const scope = parseScope(text);
  return scope === null ? deny('E_SUDO_SCOPE') : allow(scope);
}
