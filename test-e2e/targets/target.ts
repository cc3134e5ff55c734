/** What a scenario runs against: some gateways, the data directory behind them, the processes that it may hurt. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerControl, TestServer } from '@svc/testing/servers/processes.ts';
import type { ServiceProcess } from './service-process.ts';

export type TargetKind = 'embedded' | 'cluster';

export type Environment = Readonly<Record<string, string>>;

/** Addresses of the servers that the processes of a cluster share. */
export interface ClusterServers {
  readonly nats: string;
  readonly redis: string;
  readonly database: string;
}

/** Plain data, so that it can be handed from the process that started the target to the ones that run scenarios. */
export interface TargetPlace {
  readonly kind: TargetKind;
  /** Base URLs. */
  readonly gateways: readonly string[];
  /** Key that the gateways expect; null = keyless loopback, every caller is the operator. */
  readonly key: string | null;
  /** Everything of this target lies below it. */
  readonly root: string;
  readonly dataDir: string;
  readonly servers: ClusterServers | null;
}

/** The processes of a target by what they run: `gateway`, or a service of `deploy/services.ts` that has some for itself. */
interface TargetProcesses {
  /** Each of them once, those behind the gateways first; embedded, the one that is all of them. */
  readonly everybody: readonly ServiceProcess[];
  readonly gateways: readonly ServiceProcess[];
  readonly brains: readonly ServiceProcess[];
  readonly habitats: readonly ServiceProcess[];
  readonly escrows: readonly ServiceProcess[];
  /** Throws when nothing here runs the role alone: whoever ended it would end others. */
  of(role: string): readonly ServiceProcess[];
}

/** Roles that share their processes, and one that has processes for itself; embedded, all share one. */
interface RoleProcesses {
  readonly roles: readonly string[];
  readonly processes: readonly ServiceProcess[];
}

/** A target of one scenario file, which may kill and restart what it likes. */
export interface OwnTarget extends TargetProcesses {
  readonly place: TargetPlace;
  readonly servers: { readonly nats: TestServer; readonly redis: TestServer; readonly postgres: TestServer } | null;
  /** Whatever was done to it, everything runs and answers again, with these settings; `apart` divides it anew. */
  revive(environment: Environment, apart?: readonly string[]): Promise<OwnTarget>;
  /** Resolves when all that was ended and started again serves, and every gateway knows it: one alone may go by what it saw before. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

/** `isWhole`: whoever ends one role here means to end them all. */
export function ownTargetOf(
  running: readonly RoleProcesses[],
  rest: Omit<OwnTarget, keyof TargetProcesses>,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): OwnTarget {
  const of = (role: string): readonly ServiceProcess[] => {
    const found = running.find(({ roles }) => roles.includes(role) && (isWhole || roles.length === 1));
    if (found === undefined) throw new Error(`no process of this target is ${role} alone: say it in \`apart\``);
    return found.processes;
  };
  return {
    ...rest,
    everybody: running.flatMap(({ processes }) => processes),
    of,
    get gateways() {
      return of('gateway');
    },
    get brains() {
      return of('brain');
    },
    get habitats() {
      return of('habitat');
    },
    get escrows() {
      return of('escrow');
    },
  };
}

/** Throws where the server is somebody else's: a fault that cannot happen proves nothing. */
export function breakable({ servers }: OwnTarget, name: 'nats' | 'redis' | 'postgres'): ServerControl {
  const control = servers?.[name].control;
  if (control === undefined) throw new Error(`the ${name} server was given to this run, which may not break it`);
  return control;
}

export const API_KEY = 'e2e-operator-key-0123456789abcdef';

/** What every process under test said so far. */
export function logsOf({ root }: TargetPlace): string {
  const folder = join(root, 'logs');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

export function brainFolder({ dataDir }: TargetPlace, brain: string): string {
  return join(dataDir, 'brains', brain);
}

/** Working tree of a branch other than `main`. */
export function worktreeFolder({ dataDir }: TargetPlace, brain: string, branch: string): string {
  return join(dataDir, 'worktrees', brain, branch.replaceAll('/', '+'));
}
