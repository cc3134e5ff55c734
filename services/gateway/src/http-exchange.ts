/** One HTTP request and the one reply it gets: its id, its form, its rate window, its headers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallError } from '@svc/contract/codes.ts';
import { frameError, type ReplyForm, UNREADABLE } from './domain/call-form.ts';
import type { Rate } from './limits.ts';

export class HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The client's. */
  readonly address: string;
  /** Of `performance.now()`. */
  readonly startedAt = performance.now();
  /** Under which the caller keeps its current values, as it was sent. */
  sessionName: string | undefined;
  form: ReplyForm = UNREADABLE;
  rate: Rate | null = null;
  /** What is answered was answered before, under the same idempotency key. */
  replayed = false;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string, address: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.address = address;
  }
}

export interface ReplyWriter {
  /** Header names and values in turn, for every reply of every door. */
  headersFor(exchange: HttpExchange): string[];
  json(exchange: HttpExchange, status: number, body: string, headers?: readonly string[]): void;
}

interface ReplyPolicy {
  readonly securityHeaders: readonly string[];
  readonly corsOrigins: readonly string[] | undefined;
  isDraining(): boolean;
}

const EXPOSED =
  'ETag, x-request-id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotency-Replayed, Mcp-Session-Id';

export function createReplyWriter({ securityHeaders, corsOrigins, isDraining }: ReplyPolicy): ReplyWriter {
  function headersFor({ request, requestId, rate, replayed }: HttpExchange): string[] {
    const headers = [...securityHeaders, 'x-request-id', requestId];
    if (rate !== null) {
      headers.push('X-RateLimit-Limit', String(rate.limit), 'X-RateLimit-Remaining', String(rate.remaining));
      headers.push('X-RateLimit-Reset', String(rate.resetAtS));
    }
    if (replayed) headers.push('Idempotency-Replayed', 'true');
    const { origin } = request.headers;
    if (origin !== undefined && corsOrigins?.includes(origin) === true) {
      headers.push('Access-Control-Allow-Origin', origin, 'Vary', 'Origin', 'Access-Control-Expose-Headers', EXPOSED);
    }
    if (isDraining()) headers.push('Connection', 'close');
    return headers;
  }

  function json(exchange: HttpExchange, status: number, body: string, extra?: readonly string[]): void {
    const headers = headersFor(exchange);
    headers.push('Content-Type', 'application/json; charset=utf-8');
    headers.push('Content-Length', String(Buffer.byteLength(body)));
    if (extra !== undefined) headers.push(...extra);
    exchange.response.writeHead(status, headers);
    exchange.response.end(body);
  }

  return { headersFor, json };
}

/** The failure in the form of a call's reply. */
export function failureText({ form, requestId }: HttpExchange, { code, message, details }: CallError): string {
  return frameError(form, { code, message, data: { requestId, ...details } });
}

/** Whole seconds to wait, at least one. */
export function failureHeaders({ code, details }: CallError): string[] {
  if (code === 'UNAUTHORIZED') return ['WWW-Authenticate', 'Bearer'];
  if (code !== 'RATE_LIMITED' && code !== 'SERVICE_UNAVAILABLE' && code !== 'E_BUSY') return [];
  const waitMs = typeof details.retryAfterMs === 'number' ? details.retryAfterMs : 1000;
  return ['Retry-After', String(Math.max(1, Math.ceil(waitMs / 1000)))];
}
