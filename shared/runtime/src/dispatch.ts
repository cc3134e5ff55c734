/** One call inside the service that owns the tool: authorise, parse, handler, output check; the only catch around it. */
import { hash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import { CallError, type CallErrorCode, Refusal, type RefusalCode } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import { createEnvelopeDecoder, encodeReply, type Envelope, failureOf } from '@svc/contract/rpc.ts';
import { DEFAULT_WORKSPACE, identityOf, isAnonymous } from '@svc/contract/subject.ts';
import type { Role } from '@svc/contract/registry.ts';
import {
  type Access,
  type Caller,
  type IdempotencyScope,
  isRepeatable,
  type Tool,
  type ToolContext,
} from '@svc/contract/tool.ts';
import { argumentParser } from './arguments.ts';
import { isUnstorableText } from './database-errors.ts';
import { diskRefusalOf } from './disk-errors.ts';
import { callErrorFor, createFailureReport } from './failures.ts';
import type { KeptReplies, KeptReply } from './kept-replies.ts';
import type { Platform } from './platform.ts';

type AnyContext<Deps> = ToolContext<Deps, RefusalCode, CallErrorCode>;

interface PreparedTool<Deps> {
  readonly tool: Tool<Deps>;
  readonly parse: (args: Record<string, unknown>) => unknown;
  readonly handler: (input: unknown, context: AnyContext<Deps>) => Promise<unknown>;
  observe(seconds: number): void;
}

/** Whether the caller holds the role, or a stronger one, in the workspace now. Throws CallError when that cannot be told. */
export type HoldsRole = (caller: Caller, workspace: string, role: Role) => Promise<boolean>;

/** Encoded Envelope -> reply frame; never throws. */
export type Dispatch = (payload: string) => Promise<string>;

interface DispatchOptions<Deps> {
  readonly tools: readonly Tool<Deps>[];
  readonly deps: Deps;
  readonly platform: Pick<Platform, 'clock' | 'log' | 'metrics'>;
  /** Judges `workspace:<role>` access; absent = only operators pass. */
  readonly holdsRole?: HoldsRole | undefined;
  /** Where what keyed calls were told is kept; absent = nothing is, and each repeat is told anew. */
  readonly replies?: KeptReplies | undefined;
}

/** What is known of a call while it is performed. */
interface CallState {
  scope: IdempotencyScope | null;
  replayed: boolean;
}

export function createDispatch<Deps>(options: DispatchOptions<Deps>): Dispatch {
  const { tools, platform } = options;
  const seconds = platform.metrics.histogram('svc_tool_seconds', 'Time a tool took inside its service.', ['tool']);
  const inHand = platform.metrics.gauge('svc_calls_in_hand', 'Calls that this process works on.');
  const decode = createEnvelopeDecoder();
  const report = createFailureReport(platform.log, 'a call failed');
  const prepared = new Map<string, PreparedTool<Deps>>();
  for (const tool of tools) {
    if (prepared.has(tool.name)) throw new Error(`two tools are named ${tool.name}`);
    const timer = seconds.labels(tool.name);
    prepared.set(tool.name, {
      tool,
      parse: argumentParser(tool),
      handler: tool.handler.bind(tool) as PreparedTool<Deps>['handler'],
      observe: (elapsed) => timer.observe(elapsed),
    });
  }

  return async function dispatch(payload) {
    const startedAt = performance.now();
    let envelope: Envelope | null = null;
    let found: PreparedTool<Deps> | undefined;
    const state: CallState = { scope: null, replayed: false };
    inHand.inc();
    try {
      envelope = decode(payload);
      found = prepared.get(envelope.tool);
      if (!found) throw new CallError('TOOL_NOT_FOUND');
      const body = await perform(found, envelope, options, state);
      return await told(found.tool, { body, refusal: null }, state, options.replies);
    } catch (error) {
      const failure = diskRefusalOf(error) ?? error;
      const refused = refusalOf(failure, found?.tool);
      if (found !== undefined && refused !== null) return await told(found.tool, refused, state, options.replies);
      if (!(failure instanceof CallError) && !isUnstorableText(failure))
        report(error, { requestId: envelope?.requestId, tool: envelope?.tool });
      return encodeReply({ ok: false, failure: failureOf(callErrorFor(failure)) });
    } finally {
      inHand.dec();
      found?.observe((performance.now() - startedAt) / 1000);
    }
  };
}

async function perform<Deps>(
  { tool, parse, handler }: PreparedTool<Deps>,
  envelope: Envelope,
  { deps, platform, holdsRole }: DispatchOptions<Deps>,
  state: CallState,
): Promise<string> {
  const now = platform.clock.now();
  if (envelope.deadlineAt <= now) throw new CallError('TIMEOUT');
  const caller = callerOf(envelope);
  assertStaticAccess(tool, caller);
  const input = parse(envelope.args);
  if (envelope.only === 'arguments') return 'null';
  if (tool.access.startsWith(WORKSPACE_ACCESS) && !caller.operator)
    await assertWorkspaceRole(tool, input, caller, holdsRole);
  state.scope = idempotencyScope(tool, envelope, input);
  const context: AnyContext<Deps> = {
    deps,
    caller,
    now,
    repeatable: isRepeatable(tool.effect, envelope.idempotencyKey !== undefined),
    idempotency: state.scope,
    markReplayed() {
      state.replayed = true;
    },
    take,
    refuse: (code, details, message) => new Refusal(code, details, message),
    fail: (code, message, details) => new CallError(code, message, details),
  };
  const result = tool.output.parse(await handler(input, context));
  return JSON.stringify(tool.bare ? result : { content: result });
}

function callerOf(envelope: Envelope): Caller {
  const { subject, token = null, registry = null, principal, session, requestId, deadlineAt, hops } = envelope;
  const operator = envelope.operator && token === null;
  const caller = { subject, operator, token, registry, principal, session, requestId, deadlineAt };
  return hops === undefined ? caller : { ...caller, hops };
}

/** The door judged this already; a service does not rely on it. */
function assertStaticAccess({ access, name }: { access: Access; name: string }, { operator, subject }: Caller): void {
  if (access === 'public' || operator) return;
  if (isAnonymous(subject)) throw new CallError('UNAUTHORIZED');
  if (access === 'operator') throw new CallError('FORBIDDEN', `${name} is for operators.`);
}

const WORKSPACE_ACCESS = 'workspace:';

async function assertWorkspaceRole<Deps>(
  tool: Tool<Deps>,
  input: unknown,
  caller: Caller,
  holdsRole: HoldsRole | undefined,
): Promise<void> {
  const role = tool.access.slice(WORKSPACE_ACCESS.length) as Role;
  const workspace = tool.workspaceOf?.(input as never, caller) ?? workspaceIn(input, caller);
  if (holdsRole === undefined || !(await holdsRole(caller, workspace, role)))
    throw new CallError('FORBIDDEN', `${tool.name} takes the role ${role} in the workspace ${workspace}.`);
}

function workspaceIn(input: unknown, { subject }: Caller): string {
  const { workspaceId, workspace } = input as { workspaceId?: unknown; workspace?: unknown };
  const named = workspaceId ?? workspace;
  return typeof named === 'string' ? named : (subject.workspace ?? DEFAULT_WORKSPACE);
}

function idempotencyScope<Deps>(tool: Tool<Deps>, envelope: Envelope, input: unknown): IdempotencyScope | null {
  if (envelope.idempotencyKey === undefined || tool.effect === 'read') return null;
  const argsHash = hash('sha256', sortedJson(input), 'hex');
  return { principal: keyOwner(envelope), tool: tool.name, key: envelope.idempotencyKey, argsHash };
}

/**
 * Behind the door of an operator many agents may act, who know nothing of each other's keys. A token that is bound to a
 * workspace acts there alone: it is not told what its agent was told elsewhere, and what that did is not done there.
 */
function keyOwner({ principal, operator, subject, token }: Envelope): string {
  const bound = token?.bound ?? null;
  if (bound !== null) return `${principal} in ${bound}`;
  const agent = operator ? identityOf(subject) : null;
  return agent === null ? principal : `${principal} as ${agent}`;
}

function take<Value>(decision: Decision<Value, RefusalCode>, shown: Record<string, unknown> = {}): Value {
  if (decision.ok) return decision.value;
  throw new Refusal(decision.code, { ...shown, ...decision.details }, decision.message);
}

/** Of a keyed call what was told first, whatever would be told now. Secrets are kept nowhere, so those replies are made again. */
function told<Deps>(
  { secrets }: Tool<Deps>,
  { body, refusal }: KeptReply,
  { scope, replayed }: CallState,
  replies: KeptReplies | undefined,
): string | Promise<string> {
  if (scope === null || replies === undefined || secrets.length > 0)
    return encodeReply({ ok: true, body, refusal, replayed });
  return toldFirst({ body, refusal }, scope, replayed, replies);
}

async function toldFirst(
  reply: KeptReply,
  scope: IdempotencyScope,
  replayed: boolean,
  replies: KeptReplies,
): Promise<string> {
  // A refusal may be of something that was there when the key was used first; of one of the disk nothing is asked of it.
  const mayBeKnown = replayed || (reply.refusal !== null && reply.refusal !== 'E_STATE_WRITE');
  const first = mayBeKnown ? await replies.find(scope).catch(() => null) : null;
  if (first === null && !replayed) replies.keep(scope, reply);
  return encodeReply({ ok: true, ...(first ?? reply), replayed: replayed || first !== null });
}

/** Null = it is an error, not one of the refusals of the tool. */
function refusalOf<Deps>(error: unknown, tool: Tool<Deps> | undefined): KeptReply | null {
  if (!(error instanceof Refusal) || !tool?.refuses.includes(error.code)) return null;
  return { body: JSON.stringify(refusalResult(tool, error)), refusal: error.code };
}

/** A bare tool shows its refusal twice, so that a reader of `content` and a reader of `code` both find it. */
function refusalResult<Deps>(tool: Tool<Deps>, { code, message, details }: Refusal): Record<string, unknown> {
  if (tool.dress === null) return { content: null, error: message, code };
  const content = { ...tool.dress, ...details, error: message, code };
  return tool.bare ? { content, error: message, code } : { content };
}
