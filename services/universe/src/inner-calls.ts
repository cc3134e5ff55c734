/** Tools that the universe calls in the name of somebody, through the doors. */
import { CallError } from '@svc/contract/codes.ts';
import { type ActingAs, type DispatchQuestion, GATEWAY, NO_TOKEN } from '@svc/contract/operations.gateway.ts';
import { MAX_HOPS } from '@svc/contract/rpc.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller, Effect } from '@svc/contract/tool.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { withoutSecrets } from './without-secrets.ts';

/** What came of a call; `result` is null when it is longer than was asked for. */
export type Outcome =
  | {
      readonly ok: true;
      /** For whoever waits for it. */
      readonly result: unknown;
      /** The same without its secrets: what may be stored of it. */
      readonly kept: unknown;
      readonly bytes: number;
    }
  | { readonly ok: false; readonly code: string; readonly error: string };

export type InnerCall = Omit<DispatchQuestion, 'only'> & { readonly deadlineAt: number };

export interface InnerCalls {
  /** Null = no such tool. Throws SERVICE_UNAVAILABLE while that is not known. */
  effectOf(tool: string): Promise<Effect | null>;
  /** Whether the doors are open and know the tools of all services. Never throws. */
  isReady(): Promise<boolean>;
  /** Throws what the doors and the tool throw for such arguments. */
  assertFits(call: Omit<InnerCall, 'key' | 'mostBytes'>): Promise<void>;
  /** Never throws: what goes wrong has a code. */
  make(call: InnerCall): Promise<Outcome>;
}

/** What is not there shows sooner. */
const ASKED_WITHIN_MS = 2000;

export function createInnerCalls(platform: Pick<Platform, 'bus' | 'clock' | 'log'>): InnerCalls {
  const gateway = createOperationClient(platform, GATEWAY, 'universe');
  const soon = () => ({ deadlineAt: platform.clock.now() + ASKED_WITHIN_MS });
  return {
    async effectOf(name) {
      const { complete, effect } = await gateway.tool({ name });
      if (effect === null && !complete) throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
      return effect;
    },
    isReady: () =>
      gateway.tool({ name: '' }, soon()).then(
        ({ complete }) => complete,
        () => false,
      ),
    async assertFits({ deadlineAt, ...call }) {
      await gateway.dispatch({ ...call, only: 'arguments', mostBytes: 0 }, { deadlineAt });
    },
    async make({ deadlineAt, ...call }) {
      try {
        const { result, bytes, refusal, secrets } = await gateway.dispatch(call, { deadlineAt });
        const said: unknown = result === null ? null : JSON.parse(result);
        // Doors of the version before do not say what is secret.
        const kept = secrets === undefined ? null : withoutSecrets(said, secrets);
        return refusal === null
          ? { ok: true, result: said, kept, bytes }
          : { ok: false, code: refusal, error: errorIn(said) };
      } catch (error) {
        if (error instanceof CallError) return { ok: false, code: error.code, error: error.message };
        platform.log.error({ err: error, tool: call.tool }, 'a call in the name of somebody failed');
        return { ok: false, code: 'INTERNAL', error: new CallError('INTERNAL').message };
      }
    },
  };
}

function errorIn(said: unknown): string {
  const error = typeof said === 'object' && said !== null && 'error' in said ? said.error : undefined;
  return typeof error === 'string' ? error : 'The tool refused.';
}

/** As whom a call inside of another one is made: as the caller. */
export function actingOf({ subject, operator, token, principal }: Caller): ActingAs {
  const id = identityOf(subject);
  if (operator) return { kind: 'operator', agentId: id };
  if (id === null) return { kind: 'anonymous', address: principal.replace(/^anon:/, '') };
  const { bound = null, readOnly = false, profile = null, expiresAt } = token ?? {};
  const limits = { bound, readOnly, profile, ...(expiresAt === undefined ? {} : { expiresAt }) };
  return { kind: 'identity', id, workspace: subject.workspace ?? 'default', limits };
}

/** In whose name, and for how long: not beyond the token with which the caller came. */
export function behalfOf(caller: Caller): Pick<DispatchQuestion, 'as' | 'session' | 'tokenId'> {
  const { tokenId = NO_TOKEN } = caller.token ?? {};
  return { as: actingOf(caller), session: caller.session, ...(tokenId === NO_TOKEN ? {} : { tokenId }) };
}

/** How far a call that the caller's makes is inside of others; null = too far. */
export function hopsAfter({ hops = 0 }: Pick<Caller, 'hops'>): number | null {
  return hops >= MAX_HOPS ? null : hops + 1;
}
