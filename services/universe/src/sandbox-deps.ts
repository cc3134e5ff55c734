/** What the rooms that run and fetch for callers work with, and who may let them. */
import { actorOf } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import type { SANDBOX_EVENTS } from '@svc/contract/events.sandbox.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import { familyOf } from '@svc/contract/subject.ts';
import { type Caller, toolFor } from '@svc/contract/tool.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { RegistryReader } from '@svc/runtime/registry-reader.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { Compute } from './compute/compute.ts';
import type { KeyedRuns } from './keyed-runs.ts';
import type { Network } from './network/network.ts';
import type { Following } from './shell/following.ts';
import type { JobStore } from './shell/job-store.ts';
import type { Shell } from './shell/shell.ts';
import type { Tenant } from './slots.ts';

export interface SandboxDeps {
  readonly compute: Compute;
  readonly network: Network;
  readonly shell: Shell;
  readonly jobs: JobStore;
  readonly following: Following;
  newJobId(): string;
  readonly refusals: Refusals;
  readonly keyedRuns: KeyedRuns;
  readonly registry: Pick<RegistryReader, 'setting'> & Pick<OperationClient<typeof HABITAT, 'universe'>, 'sudo'>;
  /** Where events are told. */
  readonly sandboxStore: Pick<ServiceStore<EventIn<typeof SANDBOX_EVENTS>>, 'change'>;
}

/** How often this process would not run or fetch something. */
export interface Refusals {
  note(): void;
  count(): number;
}

export function createRefusals(): Refusals {
  let refused = 0;
  return {
    note() {
      refused += 1;
    },
    count: () => refused,
  };
}

export const defineSandboxTool = toolFor<SandboxDeps>();

const MAX_TARGET_LENGTH = 100;

/** As whom and where a call is counted and told. */
export function workspaceOf({ subject }: Pick<Caller, 'subject'>): string {
  return subject.workspace ?? 'default';
}

/** For whom something runs: however many agents and workspaces a family has, it has its places once. */
export function tenantOf({ subject, operator }: Pick<Caller, 'subject' | 'operator'>): Tenant {
  return { workspace: workspaceOf({ subject }), family: operator ? null : familyOf(subject) };
}

/** A target of a scope that is too long to be asked for is covered by the whole scope alone. */
export async function isPermitted(
  registry: Pick<SandboxDeps['registry'], 'sudo'>,
  caller: Caller,
  name: 'exec' | 'network',
  target?: string,
): Promise<boolean> {
  const { operator, identity } = actorOf(caller);
  if (operator) return true;
  if (identity === null || caller.subject.verified !== true) return false;
  const scope = target === undefined || target.length > MAX_TARGET_LENGTH ? name : `${name}:${target}`;
  return (await registry.sudo({ principal: `agent:${identity}`, scope })).allowed;
}

/** Throws FORBIDDEN. */
export async function assertPermitted(...asked: Parameters<typeof isPermitted>): Promise<void> {
  const [, , name] = asked;
  if (await isPermitted(...asked)) return;
  // What a task was granted says nothing of the agent, so to ask for a scope of a task would lead nowhere.
  throw new CallError('FORBIDDEN', `This is for operators, and for agents to whom sudo_grant gave the scope ${name}.`);
}
