/** What a line from a client is, as far as who passes it on must know. */
import { mirroredHeaders, namesRevision } from '@svc/gateway/domain/mcp-wire.ts';
import { isObject } from '@svc/gateway/domain/call-form.ts';

export interface ClientMessage {
  readonly text: string;
  /** `other`: an answer, or nothing that the protocol knows. */
  readonly kind: 'request' | 'notification' | 'other';
  readonly isModern: boolean;
  readonly id: unknown;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Null = no JSON. */
export function readMessage(text: string): ClientMessage | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const fields = isObject(parsed) ? parsed : {};
  const { id = null, method, params } = fields;
  const isCall = typeof method === 'string';
  return {
    text,
    kind: !isCall ? 'other' : Object.hasOwn(fields, 'id') ? 'request' : 'notification',
    isModern: namesRevision(params),
    id,
    method: isCall ? method : '',
    params: isObject(params) ? params : {},
  };
}

/** `key`: a call that changes something takes effect once under it, however often it is sent. */
export function headersOf({ isModern, method, params }: ClientMessage, key: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(isModern ? mirroredHeaders(method, params) : {}),
    ...(method === 'tools/call' && ownKey(params) === undefined ? { 'idempotency-key': key } : {}),
  };
}

/** Under which the client itself wants a call to take effect once. */
export function ownKey({ _meta }: ClientMessage['params']): unknown {
  return isObject(_meta) ? _meta['idempotencyKey'] : undefined;
}
