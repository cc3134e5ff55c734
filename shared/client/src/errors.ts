/** The three ways in which a call may end without its result, told apart by type. */
import type { CallErrorCode, RefusalCode } from './generated/codes.ts';
import type { Fields } from './json.ts';
import type { RefusalData, RefusalOf, ToolName } from './tool-types.ts';

/** The expected "no" of the domain. */
export class RefusalError<Tool extends ToolName = ToolName> extends Error {
  override readonly name = 'RefusalError';
  readonly tool: Tool;
  /** One of a newer service's may be missing in the type. */
  readonly code: RefusalOf<Tool>;
  readonly data: RefusalData<Tool>;
  readonly requestId: string | null;

  constructor(tool: Tool, code: string, message: string, data: Fields, requestId: string | null) {
    super(message);
    this.tool = tool;
    this.code = code as RefusalOf<Tool>;
    this.data = data;
    this.requestId = requestId;
  }
}

export interface CallFailure {
  readonly code: string;
  readonly message: string;
  readonly data: Fields;
  /** Of HTTP. */
  readonly status: number;
  readonly requestId: string | null;
  /** How long to wait before the same call has a chance. */
  readonly retryAfterMs: number | null;
}

/** The call was not carried out as a call. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly tool: string;
  /** One of a newer service's may be missing in the type. */
  readonly code: CallErrorCode;
  readonly data: Readonly<Fields>;
  readonly status: number;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  /** Under which the same call may be asked again; null where it was sent with none. */
  readonly idempotencyKey: string | null;

  constructor(tool: string, failure: CallFailure, idempotencyKey: string | null) {
    super(failure.message);
    this.tool = tool;
    this.code = failure.code as CallErrorCode;
    this.data = failure.data;
    this.status = failure.status;
    this.requestId = failure.requestId;
    this.retryAfterMs = failure.retryAfterMs;
    this.idempotencyKey = idempotencyKey;
  }
}

/** No node answers at the address. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  readonly url: string;
  /** The request may have arrived, so that what it asks for may have happened. */
  readonly sent: boolean;
  /** Under which the same call may be asked again; null where it was sent with none. */
  readonly idempotencyKey: string | null;

  constructor(url: string, reason: string, lost: { sent: boolean; idempotencyKey: string | null; cause?: unknown }) {
    super(`No node answers at ${url}: ${reason}.`, { cause: lost.cause });
    this.url = url;
    this.sent = lost.sent;
    this.idempotencyKey = lost.idempotencyKey;
  }
}

/** Whether the tool refused, with that code where one is named; then its type is known. */
export function isRefusal<Tool extends ToolName, Code extends RefusalOf<Tool> = RefusalOf<Tool>>(
  error: unknown,
  tool: Tool,
  code?: Code,
): error is RefusalError<Tool> & { readonly code: Code } {
  return error instanceof RefusalError && error.tool === tool && (code === undefined || error.code === code);
}

export function isCallError<Code extends CallErrorCode = CallErrorCode>(
  error: unknown,
  code?: Code,
): error is CallError & { readonly code: Code } {
  return error instanceof CallError && (code === undefined || error.code === code);
}

export type { CallErrorCode, RefusalCode };
