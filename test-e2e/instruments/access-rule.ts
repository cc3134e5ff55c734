/** What a row of the access matrix says of one tool, and the rows that occur again and again. */
import type { Fields } from '../client.ts';
import type { Tenant } from './tenants.ts';

export type Answer = string;

export interface AccessRule {
  args(tenant: Tenant, fresh: string): Fields | Promise<Fields>;
  readonly viewer: Answer;
  readonly admin: Answer;
  readonly stranger: Answer;
  /** When an admin of another tenant is answered differently from its viewer. */
  readonly strangeAdmin?: Answer;
  /** The tool answers a stranger like somebody who asks for what does not exist; arguments that name nothing. */
  unknown?(fresh: string): Fields;
}

export const none = (): Fields => ({});

export function everybody(args: AccessRule['args'] = none): AccessRule {
  return { args, viewer: 'served', admin: 'served', stranger: 'served' };
}

export function operators(args: AccessRule['args']): AccessRule {
  return { args, viewer: 'FORBIDDEN', admin: 'FORBIDDEN', stranger: 'FORBIDDEN' };
}

/** Admins of the workspace concerned. */
export function admins(
  args: AccessRule['args'],
  stranger: Answer = 'FORBIDDEN',
  unknown?: AccessRule['unknown'],
): AccessRule {
  return { args, viewer: 'FORBIDDEN', admin: 'served', stranger, ...(unknown === undefined ? {} : { unknown }) };
}

export function members(args: AccessRule['args'], stranger: Answer, unknown?: AccessRule['unknown']): AccessRule {
  return { args, viewer: 'served', admin: 'served', stranger, ...(unknown === undefined ? {} : { unknown }) };
}

/** Writers of the brain, whatever their tenant: viewers never write. */
export function writers(args: AccessRule['args']): AccessRule {
  return { args, viewer: 'FORBIDDEN', admin: 'served', stranger: 'FORBIDDEN', strangeAdmin: 'served' };
}

/** Writers of something gated: a stranger who may write elsewhere meets the boundary. */
export function gatedWriters(args: AccessRule['args']): AccessRule {
  return { args, viewer: 'FORBIDDEN', admin: 'served', stranger: 'FORBIDDEN', strangeAdmin: 'RLS_DENIED' };
}
