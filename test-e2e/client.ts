/** A caller of the system: HTTP with keep-alive, one session each, replies judged by what the scenario expects. */
import { randomUUID } from 'node:crypto';
import { type Client, createClient } from '@svc/client';
import { MAX_DEADLINE_MS } from '@svc/contract/tool.ts';
import { sawCode } from '@svc/testing/seen.ts';
import { Agent, type Dispatcher, request } from 'undici';
import type { TargetPlace } from './targets/target.ts';

export type Fields = Record<string, unknown>;

export interface CallOptions {
  /** Index of the gateway; a target with fewer wraps round. */
  readonly gateway?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: unknown;
  readonly door?: '/call' | '/mcp/exec';
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: ReplyBody;
}

interface ReplyBody {
  readonly id?: unknown;
  readonly result?: Fields;
  readonly error?: { readonly code: string; readonly message: string; readonly data?: Fields };
}

export interface CallerOptions {
  /** Overrides the target's key; null presents nothing. */
  readonly key?: string | null;
  readonly session?: string;
  readonly gateway?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

type Place = Pick<TargetPlace, 'gateways' | 'key'>;

const PATIENCE_MS = 60_000;
/** Whatever the node may take: what took too long is its answer. */
const ANSWERED_WITHIN_MS = MAX_DEADLINE_MS + 30_000;
const agent = new Agent({
  connections: 128,
  keepAliveTimeout: 2000,
  headersTimeout: ANSWERED_WITHIN_MS,
  bodyTimeout: ANSWERED_WITHIN_MS,
});

export class Caller {
  readonly session: string;
  readonly place: Place;
  readonly #options: CallerOptions;

  constructor(place: Place, options: CallerOptions = {}) {
    this.place = place;
    this.session = options.session ?? `s-${randomUUID()}`;
    this.#options = options;
  }

  /** The same person through another gateway, or with further headers. */
  with(options: CallerOptions): Caller {
    const headers = { ...this.#options.headers, ...options.headers };
    return new Caller(this.place, { ...this.#options, session: this.session, ...options, headers });
  }

  url(gateway = this.#options.gateway ?? 0): string {
    const { gateways } = this.place;
    const url = gateways[gateway % gateways.length];
    if (url === undefined) throw new Error('a target without gateways');
    return url;
  }

  headers(): Record<string, string> {
    const key = this.#options.key === undefined ? this.place.key : this.#options.key;
    return {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      'x-svc-session': this.session,
      ...this.#options.headers,
    };
  }

  /** The same person as a program, which asks until it is answered: each change once, whoever is killed meanwhile. */
  program(gateway?: number): Client {
    const { key = this.place.key } = this.#options;
    const patience = { reachWithinMs: PATIENCE_MS, timeoutMs: PATIENCE_MS };
    return createClient({ url: this.url(gateway), key: key ?? undefined, session: this.session, ...patience });
  }

  async call(tool: string, args: Fields = {}, options: CallOptions = {}): Promise<Reply> {
    const { id = 1, door = '/call', headers = {}, gateway } = options;
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } });
    const reply = await this.send(door, body, { gateway, headers });
    const code = codeOf(reply) ?? codeOfNull(reply);
    if (code !== null) sawCode(tool, code);
    return reply;
  }

  /** Any body to any door. */
  async send(
    path: string,
    body: string | Buffer,
    options: { gateway?: number | undefined; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Reply> {
    return sendTo(`${this.url(options.gateway)}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.headers(), ...options.headers },
      body,
    });
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return sendTo(`${this.url()}${path}`, { method: 'GET', headers: { ...this.headers(), ...headers } });
  }

  /** The tool's result object; anything else fails the scenario. */
  async ok<Result extends object = Fields>(
    tool: string,
    args: Fields = {},
    options: CallOptions = {},
  ): Promise<Result> {
    return successOf(await this.call(tool, args, options), `${tool} ${brief(args)}`) as Result;
  }

  /** The refusal's object, `result.content`. */
  async refused(code: string, tool: string, args: Fields = {}, options: CallOptions = {}): Promise<Fields> {
    return refusalOf(await this.call(tool, args, options), code, `${tool} ${brief(args)}`);
  }

  /** The JSON-RPC error. */
  async fails(
    code: string,
    tool: string,
    args: Fields = {},
    options: CallOptions = {},
  ): Promise<{ code: string; message: string; data: Fields; status: number }> {
    return callErrorOf(await this.call(tool, args, options), code, `${tool} ${brief(args)}`);
  }
}

type Sent = Omit<Dispatcher.RequestOptions, 'origin' | 'path'>;

export async function sendTo(url: string, options: Sent): Promise<Reply> {
  const reply = await request(url, { dispatcher: agent, ...options });
  const text = await reply.body.text();
  return { status: reply.statusCode, headers: reply.headers, text, body: parsed(text) };
}

function parsed(text: string): ReplyBody {
  try {
    return JSON.parse(text) as ReplyBody;
  } catch {
    return {};
  }
}

/** The code by which a reply says no, in either form; null for a success. */
export function codeOf({ body }: Reply): string | null {
  if (body.error !== undefined) return body.error.code;
  const content = body.result?.content;
  const code = isFields(content) ? content.code : undefined;
  return typeof code === 'string' ? code : null;
}

/** Of a refusal that is null, which stands for nothing that there is. */
function codeOfNull({ body }: Reply): string | null {
  const { content, code } = body.result ?? {};
  return content === null && typeof code === 'string' ? code : null;
}

export function successOf(reply: Reply, what: string): Fields {
  if (reply.status !== 200 || codeOf(reply) !== null || reply.body.result === undefined)
    throw unexpected(reply, what, 'success');
  const { result } = reply.body;
  return isFields(result.content) ? result.content : result;
}

export function refusalOf(reply: Reply, code: string, what: string): Fields {
  const content = reply.body.result?.content;
  if (reply.status !== 200 || !isFields(content) || content.code !== code)
    throw unexpected(reply, what, `refusal ${code}`);
  if (typeof content.error !== 'string') throw unexpected(reply, what, 'a refusal with a sentence');
  return content;
}

export function callErrorOf(
  reply: Reply,
  code: string,
  what: string,
): { code: string; message: string; data: Fields; status: number } {
  const { error } = reply.body;
  if (error?.code !== code || reply.status === 200) throw unexpected(reply, what, `call error ${code}`);
  return { code, message: error.message, data: error.data ?? {}, status: reply.status };
}

function unexpected({ status, text }: Reply, what: string, wanted: string): Error {
  return new Error(`${what}: wanted ${wanted}, got ${status} ${text.slice(0, 600)}`);
}

function brief(args: Fields): string {
  const text = JSON.stringify(args);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
