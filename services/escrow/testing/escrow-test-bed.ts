/** The ledger as a service in this process, called over the local bus, beside a registry of which a test says what it knows. */
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type AskOptions, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';
import { startService } from '@svc/runtime/service.ts';
import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import type { EscrowDeps } from '../src/deps.ts';
import { escrowService } from '../src/service.ts';

export type { Fields };

/** Workspace -> identity -> roles. */
export type Workspaces = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** A registry that knows these workspaces. */
export function registryOf(workspaces: Workspaces): FakeRegistry {
  const registry = new FakeRegistry();
  for (const [workspace, held] of Object.entries(workspaces))
    for (const [identity, roles] of Object.entries(held)) registry.grant(identity, workspace, ...roles);
  return registry;
}

/** The services that pay may ask for the same. */
type Payer = 'market' | 'agora' | 'universe';
type Ledger = OperationClient<typeof ESCROW, Payer>;
type AskAny = (question: unknown, options?: AskOptions) => Promise<unknown>;

export interface EscrowNode {
  readonly deps: EscrowDeps;
  readonly platform: Platform;
  /** As the operator, unless `over` says otherwise: the tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** As the agent of a token. */
  as(agentId: string, bound?: string): EscrowNode['call'];
  /** Asks as the market, for a call of an operator unless the options say otherwise. */
  readonly market: Ledger;
  askingAs(service: Payer): Ledger;
  /** The registry answers no more. */
  silenceRegistry(): Promise<void>;
  stop(): Promise<void>;
}

export async function startEscrowNode(
  database: Database,
  {
    registry = new FakeRegistry(),
    environment,
    ...over
  }: Partial<Platform> & { registry?: FakeRegistry; environment?: Platform['config'] } = {},
): Promise<EscrowNode> {
  const platform = platformOn(database, { ...over, ...(environment === undefined ? {} : { config: environment }) });
  const answering = await registry.serveOn(platform);
  const service = await startService(platform, escrowService);
  const call: EscrowNode['call'] = (tool, args = {}, envelope = {}) => callEscrow(platform.bus, tool, args, envelope);
  return {
    deps: service.deps,
    platform,
    call,
    as:
      (agentId, bound) =>
      (tool, args = {}, envelope = {}) =>
        call(tool, args, { ...asToken(agentId, bound), ...envelope }),
    market: ledgerFor(platform, 'market'),
    askingAs: (service) => ledgerFor(platform, service),
    async silenceRegistry() {
      await answering.drain();
    },
    async stop() {
      await service.stop();
      await platform.jobs.close();
      await platform.bus.close();
    },
  };
}

function asToken(agentId: string, bound: string | undefined): Partial<Envelope> {
  const token = { tokenId: 'tok_1', bound: bound ?? null, readOnly: false, profile: null, expiresAt: 0 };
  return { operator: false, principal: `tok:${agentId}`, token, subject: { agentId, verified: true } };
}

async function callEscrow(bus: Bus, tool: string, args: Fields, over: Partial<Envelope>): Promise<Fields> {
  const { fields, replayed } = await callTool(bus, 'escrow', tool, args, { subject: {}, ...over });
  return replayed ? { ...fields, replayed: true } : fields;
}

function ledgerFor(platform: Platform, service: Payer): Ledger {
  const client = createOperationClient(platform, ESCROW, service) as unknown as Readonly<Record<string, AskAny>>;
  const asked = Object.entries(client).map(([name, ask]) => {
    const askForOperator: AskAny = (question, options) => ask(question, { by: 'tester', operator: true, ...options });
    return [name, askForOperator] as const;
  });
  return Object.fromEntries(asked) as unknown as Ledger;
}
