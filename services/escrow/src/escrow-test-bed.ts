/** The ledger as a service in this process, called over the local bus, beside a registry of which a test says what it knows. */
import { type EscrowAsk, type EscrowOperation, type EscrowReply, escrowSubject } from '@svc/contract/escrow.ts';
import { REGISTRY, type RegistryAnswer, type RegistryQuestion } from '@svc/contract/registry.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Bus, Subscription } from '@svc/runtime/bus.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import type { EscrowDeps } from './deps.ts';
import { escrowService } from './service.ts';

export type { Fields };

/** What the registry knows: workspace -> identity -> roles, and organisations with who may spend and read. */
export interface KnownPeople {
  readonly workspaces: Record<string, Record<string, string[]>>;
  readonly orgs: Record<string, { readonly spend: readonly string[]; readonly read: readonly string[] }>;
}

export interface EscrowNode {
  readonly deps: EscrowDeps;
  readonly platform: Platform;
  readonly people: KnownPeople;
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
  { people, environment, ...over }: Partial<Platform> & { people?: KnownPeople; environment?: Platform['config'] } = {},
): Promise<EscrowNode> {
  const known = people ?? { workspaces: {}, orgs: {} };
  const platform = platformOn(database, { ...over, ...(environment === undefined ? {} : { config: environment }) });
  const registry = await answerAsRegistry(platform.bus, known);
  const service = await startService(platform, escrowService);
  const call: EscrowNode['call'] = (tool, args = {}, envelope = {}) => callEscrow(platform.bus, tool, args, envelope);
  return {
    deps: service.deps,
    platform,
    people: known,
    call,
    as:
      (agentId, bound) =>
      (tool, args = {}, envelope = {}) =>
        call(tool, args, { ...asToken(agentId, bound), ...envelope }),
    bus: (operation, body, options) => callOperation(platform.bus, operation, body, options),
    async silenceRegistry() {
      await Promise.all(registry.map((subscription) => subscription.drain()));
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

type Answering = { readonly [Question in RegistryQuestion]?: (ask: never) => RegistryAnswer<Question> };

/** Roles may be changed by a test at any time: each answer is of now, under a stamp of its own. */
async function answerAsRegistry(bus: Bus, { workspaces, orgs }: KnownPeople): Promise<Subscription[]> {
  let rev = 0;
  const stamp = () => ({ rev: (rev += 1), policies: 1, settings: 1 });
  const rolesOf = (userId: string) =>
    Object.fromEntries(Object.entries(workspaces).flatMap(([id, held]) => (held[userId] ? [[id, held[userId]]] : [])));
  const answers: Answering = {
    revision: () => ({ stamp: stamp(), at: Date.now(), current: {} }),
    roles: ({ userId, workspaceId }: { userId: string; workspaceId: string }) => ({
      stamp: stamp(),
      known: workspaces[workspaceId] !== undefined,
      roles: workspaces[workspaceId]?.[userId] ?? [],
    }),
    context: ({ agentId }: { agentId: string }) => ({
      stamp: stamp(),
      subject: null,
      quarantined: false,
      roles: rolesOf(agentId),
    }),
    account: ({ account, by = '' }: { account: string; by?: string }) => {
      const org = orgs[account];
      const isIdentity = Object.keys(rolesOf(account)).length > 0;
      const own = org === undefined && isIdentity && by === account;
      const maySpend = own || org?.spend.includes(by) === true;
      const kind = org !== undefined ? 'org' : isIdentity ? 'identity' : null;
      return { stamp: stamp(), kind, maySpend, mayRead: maySpend || org?.read.includes(by) === true };
    },
    audit: () => ({}),
  };
  return Promise.all(
    Object.entries(answers).map(([question, answer]) =>
      bus.respond(REGISTRY[question as RegistryQuestion].subject, async (payload) =>
        JSON.stringify({ ok: true, answer: answer(JSON.parse(payload) as never) }),
      ),
    ),
  );
}
