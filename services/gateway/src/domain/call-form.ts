/** The forms in which a call may be written, and how its reply is framed. */
import { CallError } from '@svc/contract/codes.ts';

export type HttpDoor = 'call' | 'exec' | 'mcp';

/** How the reply echoes the request: `idJson` is the id as JSON text; the short form has it only when it was sent. */
export interface ReplyForm {
  readonly idJson: string;
  readonly short: boolean;
  readonly hasId: boolean;
}

export const UNREADABLE: ReplyForm = { idJson: 'null', short: false, hasId: false };

export interface CallForm {
  readonly method: 'tools/call' | 'tools/list';
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly metaKey: unknown;
}

type Fields = Record<string, unknown>;

const MAX_ID_LENGTH = 128;

/** Readable from any body that is an object, so that a refusal of its form still carries its id. */
export function replyFormOf(body: unknown, door: HttpDoor): ReplyForm {
  if (!isObject(body)) return UNREADABLE;
  const short = door === 'exec' && !Object.hasOwn(body, 'jsonrpc') && !Object.hasOwn(body, 'method');
  const idJson = idText(body.id);
  return { idJson: idJson ?? 'null', short, hasId: Object.hasOwn(body, 'id') };
}

function idText(id: unknown): string | null {
  if (id === undefined || id === null) return 'null';
  if (typeof id === 'string') return id.length <= MAX_ID_LENGTH ? JSON.stringify(id) : null;
  return typeof id === 'number' && Number.isFinite(id) ? JSON.stringify(id) : null;
}

/** Throws INVALID_REQUEST or METHOD_NOT_FOUND. */
export function callFormOf(body: unknown, { short }: ReplyForm): CallForm {
  if (Array.isArray(body)) throw invalid('A batch of calls is not taken.');
  if (!isObject(body)) throw invalid('The body must be an object.');
  if (idText(body.id) === null) {
    throw invalid(`id must be a string of at most ${MAX_ID_LENGTH} characters, a number or null.`);
  }
  return short ? shortCall(body) : jsonRpcCall(body);
}

function jsonRpcCall(body: Fields): CallForm {
  if (body.jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0".');
  if (typeof body.method !== 'string') throw invalid('method must be a string.');
  if (body.method !== 'tools/call' && body.method !== 'tools/list') throw new CallError('METHOD_NOT_FOUND');
  const params = body.params ?? {};
  if (!isObject(params)) throw invalid('params must be an object.');
  if (body.method === 'tools/list') return { method: 'tools/list', name: '', args: {}, metaKey: undefined };
  return toolCall(params.name, params);
}

function shortCall(body: Fields): CallForm {
  if (isGiven(body.tool) && isGiven(body.name)) throw invalid('Give tool or name, not both.');
  return toolCall(body.tool ?? body.name, body);
}

function toolCall(name: unknown, holder: Fields): CallForm {
  if (typeof name !== 'string' || name === '') throw invalid('name must be the name of a tool.');
  return { method: 'tools/call', name, args: argumentsOf(holder, invalid), metaKey: metaKeyOf(holder._meta) };
}

function metaKeyOf(meta: unknown): unknown {
  if (!isGiven(meta)) return undefined;
  if (!isObject(meta)) throw invalid('_meta must be an object.');
  return meta.idempotencyKey ?? undefined;
}

/** Those of a call, under either name, at every door; null is none. Throws the problem, told in the words of the door. */
export function argumentsOf(holder: Fields, problem: (message: string) => Error): Record<string, unknown> {
  if (isGiven(holder.arguments) && isGiven(holder.args)) throw problem('Give arguments or args, not both.');
  const args = holder.arguments ?? holder.args ?? {};
  if (!isObject(args)) throw problem('arguments must be an object.');
  return args;
}

/** Of what is wrong with one call. */
const MAX_SAID = 10;
const INNER_FIELDS = new Set(['name', 'args', 'arguments']);

/** The call inside a `svc_call`. Throws VAF_INPUT_INVALID with everything that is wrong. */
export function innerCallOf(args: Record<string, unknown>): Pick<CallForm, 'name' | 'args'> {
  const { name } = args;
  const problems = Object.keys(args)
    .filter((key) => !INNER_FIELDS.has(key))
    .map((key) => ({ path: key.slice(0, 100), message: 'is not known; a call has name and arguments' }));
  if (name === 'svc_call') problems.push({ path: 'name', message: 'must not be svc_call itself' });
  if (typeof name !== 'string' || name === '') problems.push({ path: 'name', message: 'must be the name of a tool' });
  else if (problems.length === 0)
    return { name, args: argumentsOf(args, (message) => badInner([{ path: 'args', message }])) };
  throw badInner(problems);
}

function badInner(problems: readonly { readonly path: string; readonly message: string }[]): CallError {
  const said = problems.slice(0, MAX_SAID);
  return new CallError('VAF_INPUT_INVALID', said.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    problems: said,
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function invalid(message: string): CallError {
  return new CallError('INVALID_REQUEST', message);
}

/** The whole reply around the text of a `result` member. */
export function frameResult({ idJson, short, hasId }: ReplyForm, result: string): string {
  if (!short) return `{"jsonrpc":"2.0","id":${idJson},"result":${result}}`;
  return hasId ? `{"id":${idJson},"result":${result}}` : `{"result":${result}}`;
}

export function frameError(
  { idJson, short, hasId }: ReplyForm,
  error: { readonly code: string; readonly message: string; readonly data: Record<string, unknown> },
): string {
  const text = JSON.stringify(error);
  if (!short) return `{"jsonrpc":"2.0","id":${idJson},"error":${text}}`;
  return hasId ? `{"id":${idJson},"error":${text}}` : `{"error":${text}}`;
}
