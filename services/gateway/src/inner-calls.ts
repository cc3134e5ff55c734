/** Calls that a service makes in the name of a caller who was there before: judged, counted and recorded like those at the doors. */
import { CallError } from '@svc/contract/codes.ts';
import {
  type ActingAs,
  type DispatchQuestion,
  type Dispatched,
  GATEWAY,
  NO_TOKEN,
} from '@svc/contract/operations.gateway.ts';
import type { VerifiedToken } from '@svc/contract/registry.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import { type Handlers, serveOperations } from '@svc/runtime/operations.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Revision } from '@svc/runtime/registry.ts';
import { anonymousAt, type Credentials, tokenIdentity } from './credentials.ts';
import { type Denials, deniedCallerOf } from './denials.ts';
import type { CallSource } from './envelope-builder.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Identity, Visit } from './identity.ts';
import { type Limits, rateLimited } from './limits.ts';
import type { Ports } from './ports.ts';
import type { ServiceDirectory } from './service-directory.ts';
import type { Answer, PrepareCall, Tally } from './tool-call.ts';

export interface InnerCallDeps {
  readonly platform: Pick<StatelessPlatform, 'config' | 'clock'>;
  readonly directory: ServiceDirectory;
  readonly ports: Ports;
  readonly credentials: Pick<Credentials, 'operator'>;
  readonly limits: Limits;
  readonly metrics: GatewayMetrics;
  readonly denials: Denials;
  readonly prepare: PrepareCall;
}

export function serveInnerCalls(
  platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>,
  deps: InnerCallDeps,
): Promise<Subscription> {
  return serveOperations(platform, { operations: GATEWAY, handlers, deps });
}

const handlers: Handlers<typeof GATEWAY, InnerCallDeps> = {
  async tool({ name }, { deps: { directory } }) {
    return { complete: directory.missing().length === 0, effect: directory.route(name)?.card.effect ?? null };
  },
  async dispatch(question, { deps, deadlineAt }) {
    const visit = await visitOf(deps, question);
    const startedAt = performance.now();
    const tally: Tally = { route: null, code: 'ok', failed: false, visit };
    try {
      const { body, refusal, card } = await call(deps, question, { visit, tally, deadlineAt });
      return dispatched({ body, refusal, card }, question.mostBytes);
    } catch (error) {
      tally.code = error instanceof CallError ? error.code : 'INTERNAL';
      const { identity } = visit;
      deps.denials.note(deniedCallerOf(identity), tally.route?.card.name ?? 'none', tally.code, question.requestId);
      throw error;
    } finally {
      const meter = tally.route?.meter ?? deps.metrics.unknownTool;
      meter.counted(tally.code, 'inner');
      meter.took((performance.now() - startedAt) / 1000);
    }
  },
};

interface Call {
  readonly visit: Visit;
  readonly tally: Tally;
  readonly deadlineAt: number;
}

async function call(
  { platform, limits, metrics, prepare }: InnerCallDeps,
  { tool, args, as, session, requestId, hops, key, only }: DispatchQuestion,
  { visit, tally, deadlineAt }: Call,
): Promise<Answer> {
  const { identity } = visit;
  const rate = only === undefined ? await limits.count(identity) : null;
  if (rate !== null && rate.exceededForMs !== null) {
    metrics.rateLimited(identity.plan);
    throw rateLimited(rate.exceededForMs);
  }
  const leftMs = Math.max(1, Math.floor(deadlineAt - platform.clock.now()));
  const exchange: CallSource = {
    request: { headers: { 'x-svc-timeout-ms': String(leftMs), ...agentOf(as) } },
    requestId,
    sessionName: undefined,
    within: { session, hops, only },
  };
  const called = { name: tool, args, metaKey: key };
  return (await prepare(called, { exchange, door: 'inner', visit, tally })).send();
}

function agentOf(as: ActingAs): Record<string, string> {
  return as.kind === 'operator' && as.agentId !== null ? { 'x-svc-agent': as.agentId } : {};
}

async function visitOf(deps: InnerCallDeps, { as, session, tokenId }: DispatchQuestion): Promise<Visit> {
  const revision = await deps.ports.requireRevision(session);
  if (tokenId !== undefined) await assertStands(deps, { as, tokenId }, revision);
  return { identity: await identityOf(deps, { as, tokenId }, revision), revision: Promise.resolve(revision) };
}

type Behalf = Pick<DispatchQuestion, 'as' | 'tokenId'>;

/** A call may go on for minutes; what it calls is judged as what its caller would call now. */
async function assertStands(
  { ports }: InnerCallDeps,
  { as, tokenId = NO_TOKEN }: Behalf,
  revision: Revision,
): Promise<void> {
  const { expiresAt = Infinity } = as.kind === 'identity' ? as.limits : {};
  if (expiresAt > revision.at && (await ports.tokenStands(tokenId, revision.stamp))) return;
  throw new CallError('UNAUTHORIZED', 'The token with which the caller came has ended.');
}

async function identityOf(
  { platform, ports, credentials }: InnerCallDeps,
  { as, tokenId = NO_TOKEN }: Behalf,
  { stamp }: Revision,
): Promise<Identity> {
  if (as.kind === 'operator') return credentials.operator;
  if (as.kind === 'anonymous') return anonymousAt(as.address);
  const { id, workspace, limits } = as;
  // A registry of the version before does not tell the organisation.
  const { subject, quarantined, roles, org = null, plan = null } = await ports.agentContext(id, workspace, stamp);
  if (subject === null || subject.workspace !== workspace) {
    throw new CallError('UNAUTHORIZED', `${id} has no role in ${workspace}.`);
  }
  const token: VerifiedToken = {
    limits: { ...limits, tokenId, expiresAt: limits.expiresAt ?? ENDED },
    subject,
    quarantined,
    roles,
    accounts: [],
    org,
    plan,
  };
  return tokenIdentity(token, platform.config.SVC_PLAN);
}

/** What its token allowed still counts, but nothing that is to end with the token comes from one that is not there. */
const ENDED = 0;

function dispatched({ body, refusal, card }: Pick<Answer, 'body' | 'refusal' | 'card'>, mostBytes: number): Dispatched {
  const result =
    card.bare || body === 'null' ? body : JSON.stringify((JSON.parse(body) as { content: unknown }).content);
  const bytes = Buffer.byteLength(result);
  return { result: bytes <= mostBytes ? result : null, bytes, refusal, secrets: [...card.secrets] };
}
