/** What each role of a process has for itself: its name on the bus, and its logins at the servers. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, CONFIG_TABLE, ConfigProblem } from '@svc/runtime/config.ts';
import type { ProcessContext } from './process-context.ts';

export const ADDRESSES = ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'] as const;
type Address = (typeof ADDRESSES)[number];

/** Throws ConfigProblem, which names everything that is missing. */
export function roleContext(context: ProcessContext, role: string): ProcessContext {
  const { node } = context;
  const config = { ...context.config, ...loginsOf(role, context.config) };
  const missing = addressesOf(role).filter((name) => config[name] === undefined);
  if (missing.length > 0) throw new ConfigProblem(`${missing.join(', ')}: needed to run a service of the cluster`);
  return { ...context, config, node: { ...node, instance: `${role}-${randomBytes(8).toString('hex')}` } };
}

/** A gateway keeps nothing, so it gets no credential for the database. */
function addressesOf(role: string): readonly Address[] {
  return role === 'gateway' ? ADDRESSES.filter((name) => name !== 'DATABASE_URL') : ADDRESSES;
}

function loginsOf(role: string, { SVC_LOGINS_DIR: folder }: Config): Partial<Record<Address, string>> {
  if (folder === undefined) return {};
  return Object.fromEntries(addressesOf(role).map((name) => [name, readAddress(folder, name, role)]));
}

function readAddress(folder: string, name: Address, role: string): string {
  const path = join(folder, `${name.toLowerCase()}_${role}`);
  const read = CONFIG_TABLE[name].schema.safeParse(textOf(path));
  if (read.success && read.data !== undefined) return read.data;
  throw new ConfigProblem(`SVC_LOGINS_DIR: ${path} is no ${name} of ${role}`);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
