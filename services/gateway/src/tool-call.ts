/** One call of a tool, whatever protocol it came in: found, put into an envelope, sent to the service that owns it. */
import { CallError } from '@svc/contract/codes.ts';
import { callErrorOf, type Reply } from '@svc/contract/rpc.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import type { SendCall } from './calls.ts';
import { type CallForm, type HttpDoor, innerCallOf } from './domain/call-form.ts';
import { shownBy, type ToolPredicate } from './domain/profiles.ts';
import type { CallSource, EnvelopeBuilder } from './envelope-builder.ts';
import type { HttpExchange } from './http-exchange.ts';
import { stampOf, type Visit } from './identity.ts';
import type { Ports } from './ports.ts';
import { assertAllSpoke, type ServiceDirectory, type ToolRoute } from './service-directory.ts';

/** What is known of a request when it ends. */
export interface Tally {
  route: ToolRoute | null;
  code: string;
  /** The code is that of a call error, not of an answer. */
  failed: boolean;
  visit: Visit | null;
}

/** What has to be known of a call to make it, whatever it came through. */
interface CallOrigin {
  readonly exchange: CallSource;
  readonly door: HttpDoor | 'inner';
  readonly visit: Visit;
  readonly tally: Tally;
}

export interface Calling extends CallOrigin {
  readonly exchange: HttpExchange;
  readonly door: HttpDoor;
}

export interface CalledTool extends Pick<CallForm, 'name' | 'args' | 'metaKey'> {
  /** An idempotency key that goes before any that the request names. */
  readonly ownKey?: string;
}
export type Answer = Extract<Reply, { ok: true }> & { readonly card: ToolCard };

/** A call that the door has judged and made ready for the service that owns the tool. */
export interface PreparedCall {
  readonly route: ToolRoute;
  /** Throws CallError. */
  send(): Promise<Answer>;
}

/** Throws CallError. The call inside a `svc_call` is prepared in its place. */
export type PrepareCall = (called: CalledTool, origin: CallOrigin) => Promise<PreparedCall>;
/** Throws CallError. */
export type CallTool = (called: CalledTool, calling: Calling) => Promise<Answer>;

export interface CallParts {
  readonly directory: ServiceDirectory;
  readonly ports: Pick<Ports, 'profilesFor'>;
  readonly buildEnvelope: EnvelopeBuilder;
  readonly sendCall: SendCall;
}

export function createPrepareCall({ directory, ports, buildEnvelope, sendCall }: CallParts): PrepareCall {
  return async ({ name: outer, args: given, metaKey, ownKey }, { exchange, door, visit, tally }) => {
    const { name, args } = outer === 'svc_call' ? innerCallOf(given) : { name: outer, args: given };
    const route = directory.route(name);
    if (route === undefined) {
      const profile = visit.identity.token?.limits.profile ?? null;
      throw unknownTool(directory, name, shownBy(profile, await ports.profilesFor(profile, () => stampOf(visit))));
    }
    tally.route = route;
    const { card } = route;
    const call = await buildEnvelope({ card, args, metaKey, ownKey, visit, exchange, door });
    return {
      route,
      async send() {
        const reply = await sendCall(route, call);
        if (!reply.ok) throw callErrorOf(reply.failure);
        if (reply.refusal !== null) tally.code = reply.refusal;
        return { ...reply, card };
      },
    };
  };
}

export function callWith(prepare: PrepareCall): CallTool {
  return async (called, calling) => await (await prepare(called, calling)).send();
}

function unknownTool(directory: ServiceDirectory, name: string, isShown: ToolPredicate): CallError {
  assertAllSpoke(directory);
  const nearest = directory.nearest(name, isShown);
  const hint = nearest.length === 0 ? '' : ` Nearest: ${nearest.join(', ')}.`;
  return new CallError('TOOL_NOT_FOUND', `There is no tool ${JSON.stringify(name.slice(0, 100))}.${hint}`);
}
