/** The ledger as a service in this process, called over the local bus, beside a registry of which a test says what it knows. */
import { type EscrowAsk, type EscrowOperation, type EscrowReply, escrowSubject } from '@svc/contract/escrow.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
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

export interface EscrowNode {
  readonly deps: EscrowDeps;
  readonly platform: Platform;
  /** As the operator, unless `over` says otherwise: the tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** As the agent of a token. */
  as(agentId: string, bound?: string): EscrowNode['call'];
  /** As the market, for a call of an operator unless `operator` is false. */
  bus<Operation extends EscrowOperation>(
    operation: Operation,
    body: EscrowAsk<Operation>,
    options?: { readonly operator?: boolean; readonly service?: string; readonly deadlineAt?: number },
  ): Promise<EscrowReply>;
  /** The registry answers no more. */
  silenceRegistry(): Promise<void>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 20_000;

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
    bus: (operation, body, options) => callOperation(platform.bus, operation, body, options),
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

async function callOperation<Operation extends EscrowOperation>(
  bus: Bus,
  operation: Operation,
  body: EscrowAsk<Operation>,
  { operator = true, service = 'market', deadlineAt = Date.now() + PATIENCE_MS } = {},
): Promise<EscrowReply> {
  const request = JSON.stringify({ body, deadlineAt, by: 'tester', operator });
  const reply = await bus.request(escrowSubject(service, operation), request, { deadlineAt: Date.now() + PATIENCE_MS });
  return JSON.parse(reply) as EscrowReply;
}
