/** Calls of tools with their types, sent again where that is safe. */
import { performCall } from './call.ts';
import { type ConnectionOptions, connectionOf } from './connection.ts';
import { RefusalError } from './errors.ts';
import { sendBy } from './exchange.ts';
import type { Fields } from './json.ts';
import { createLooks, type Looks } from './looks.ts';
import type { CallParameters, RefusalData, RefusalOf, Result, ToolName } from './tool-types.ts';

export { CallError, isCallError, isRefusal, RefusalError, UnreachableError } from './errors.ts';
export type { CallErrorCode, RefusalCode } from './errors.ts';
export type { ConnectionOptions } from './connection.ts';
export type { ListedTool, Readiness } from './looks.ts';
export type { Arguments, RefusalData, RefusalOf, Result, ToolName } from './tool-types.ts';

interface ClientOptions extends ConnectionOptions {
  /** How long a call may take with all that is done about it; default: what its tool declares. */
  readonly timeoutMs?: number | undefined;
  /** How long it is tried to reach a node where none answers, default 5000; 0 = once. */
  readonly reachWithinMs?: number | undefined;
  /** `never` = every call is sent once, and without a key unless one is given. */
  readonly repeat?: 'safely' | 'never' | undefined;
  /** In place of the global one. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  /** Ends the call; its reason is thrown. What the call asked for may happen nevertheless. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly repeat?: 'safely' | 'never' | undefined;
  /** Of a change that was asked for before; default: a fresh one for each call. */
  readonly idempotencyKey?: string | undefined;
}

/** What came of a call whose refusals the caller expects. */
export type Answered<Tool extends ToolName> =
  | { readonly ok: true; readonly result: Result<Tool> }
  | { readonly ok: false; readonly code: RefusalOf<Tool>; readonly message: string; readonly data: RefusalData<Tool> };

export interface Client extends Looks {
  /** The address, without a slash at its end. */
  readonly url: string;
  /** The result. Throws RefusalError, CallError or UnreachableError; TypeError for a `timeoutMs` that is no time. */
  call<Tool extends ToolName>(tool: Tool, ...given: CallParameters<Tool, CallOptions>): Promise<Result<Tool>>;
  /** As `call`, but a refusal is an answer. Throws CallError or UnreachableError. */
  ask<Tool extends ToolName>(tool: Tool, ...given: CallParameters<Tool, CallOptions>): Promise<Answered<Tool>>;
  /** A tool whose name is known only when it is called. */
  callNamed(tool: string, args?: Readonly<Fields>, options?: CallOptions): Promise<unknown>;
}

const REACH_WITHIN_MS = 5000;

/** Throws TypeError for what is no time. */
function timeOf({ timeoutMs }: { readonly timeoutMs?: number | undefined }): number | undefined {
  if (timeoutMs === undefined || timeoutMs > 0) return timeoutMs;
  throw new TypeError(`timeoutMs must be a number of milliseconds above 0, not ${timeoutMs}`);
}

/** Throws TypeError for what cannot be an address, a time, or stand in a header. */
export function createClient(options: ClientOptions): Client {
  const connection = connectionOf(options);
  const usualMs = timeOf(options);
  // Looked up at each call, as a browser wants it, and so that a page may put another one in its place.
  const send = sendBy(options.fetch ?? ((...request) => globalThis.fetch(...request)));
  const parts = { connection, send, reachWithinMs: options.reachWithinMs ?? REACH_WITHIN_MS };

  const callNamed: Client['callNamed'] = async (tool, args = {}, callOptions = {}) => {
    const { signal, repeat, idempotencyKey } = callOptions;
    return performCall(parts, {
      tool,
      args,
      signal,
      timeoutMs: timeOf(callOptions) ?? usualMs,
      repeats: (repeat ?? options.repeat) !== 'never',
      idempotencyKey,
    });
  };

  return {
    url: connection.shown,
    callNamed,
    call: async (tool, ...[args, callOptions]) => (await callNamed(tool, args, callOptions)) as Result<typeof tool>,
    async ask(tool, ...[args, callOptions]) {
      try {
        return { ok: true, result: (await callNamed(tool, args, callOptions)) as Result<typeof tool> };
      } catch (error) {
        if (!(error instanceof RefusalError)) throw error;
        const { code, message, data } = error as RefusalError<typeof tool>;
        return { ok: false, code, message, data };
      }
    },
    ...createLooks(connection, send),
  };
}
