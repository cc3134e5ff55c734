/** What a run in the sandbox comes to, judged by what its thread said. Nothing that ran in there is believed. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { z } from 'zod';
import { isDeeperThan } from '../../json-depth.ts';

const KIB = 1024;

export const COMPUTE_LIMITS = {
  codeBytes: 64 * KIB,
  argumentBytes: 1024 * KIB,
  memoryBytes: 64 * KIB * KIB,
  /** The engine's own count can be deceived; this is the wall around it. */
  memoryWallBytes: 96 * KIB * KIB,
  stackBytes: 512 * KIB,
  timeMs: 1000,
  maxTimeMs: 5000,
  outputBytes: 256 * KIB,
  consoleBytes: 64 * KIB,
  resultDepth: 64,
  atOnceOfWorkspace: 2,
  atOnceOfFamily: 4,
  atOnce: 8,
} as const;

/** What a thread is told to run. Of `call`, `arguments` is a JSON list. */
export type SandboxTask =
  | { readonly kind: 'evaluate'; readonly code: string }
  | { readonly kind: 'call'; readonly source: string; readonly arguments: string };

/** What a thread tells of a run. */
const Told = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('value'), result: z.string().optional(), tooLarge: z.boolean(), logs: z.string() }),
  z.strictObject({ kind: z.literal('thrown'), name: z.string(), message: z.string(), stack: z.string() }),
  z.strictObject({ kind: z.literal('unsettled') }),
  z.strictObject({ kind: z.literal('no function') }),
]);
export type Told = z.output<typeof Told>;

/** How a thread ended without telling anything. */
export type Ended = 'too slow' | 'too large' | 'failed';

export interface Ran {
  readonly result: unknown;
  readonly logs: readonly string[];
}

export type ComputeDenial =
  | 'E_COMPUTE_ERROR'
  | 'E_COMPUTE_MEMORY'
  | 'E_COMPUTE_OUTPUT'
  | 'E_COMPUTE_TIMEOUT'
  | 'E_FUNCTION';

/** What is told of a value that cannot be told itself. */
export const NO_JSON = 'The value has no JSON form.';
const MAX_NAME = 64;
const MAX_MESSAGE = 1000;

export function decideRun(told: unknown): Decision<Ran, ComputeDenial> {
  if (told === 'too slow') return deny('E_COMPUTE_TIMEOUT');
  if (told === 'too large') return deny('E_COMPUTE_MEMORY');
  const read = Told.safeParse(told);
  if (!read.success) return thrown('InternalError', 'The engine stopped.', null);
  const { data } = read;
  if (data.kind === 'no function') return deny('E_FUNCTION');
  if (data.kind === 'unsettled') return thrown('Error', 'The promise is never settled.', null);
  if (data.kind === 'thrown') return decideThrown(data);
  return decideValue(data);
}

function decideThrown({ name, message, stack }: Extract<Told, { kind: 'thrown' }>): Decision<never, ComputeDenial> {
  if (name === 'InternalError' && message === 'out of memory') return deny('E_COMPUTE_MEMORY');
  const line = /code\.js:(\d{1,6})/.exec(stack.slice(0, MAX_MESSAGE))?.[1];
  return thrown(name.slice(0, MAX_NAME), message.slice(0, MAX_MESSAGE), line === undefined ? null : Number(line));
}

function thrown(name: string, message: string, line: number | null): Decision<never, ComputeDenial> {
  return deny('E_COMPUTE_ERROR', { name: name.toWellFormed(), message: message.toWellFormed(), line });
}

function decideValue({ result, tooLarge, logs }: Extract<Told, { kind: 'value' }>): Decision<Ran, ComputeDenial> {
  if (tooLarge) return deny('E_COMPUTE_OUTPUT', { limit: COMPUTE_LIMITS.outputBytes });
  if (result === undefined) return deny('E_COMPUTE_OUTPUT', { problem: NO_JSON });
  if (Buffer.byteLength(result) > COMPUTE_LIMITS.outputBytes)
    return deny('E_COMPUTE_OUTPUT', { limit: COMPUTE_LIMITS.outputBytes });
  if (isDeeperThan(result, COMPUTE_LIMITS.resultDepth))
    return deny('E_COMPUTE_OUTPUT', { depth: COMPUTE_LIMITS.resultDepth });
  try {
    return allow({ result: JSON.parse(result) as unknown, logs: linesOf(logs) });
  } catch {
    return deny('E_COMPUTE_OUTPUT', { problem: NO_JSON });
  }
}

/** As many whole lines as there is room for. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  let room: number = COMPUTE_LIMITS.consoleBytes;
  for (const line of text.toWellFormed().split('\n').slice(0, -1)) {
    room -= Buffer.byteLength(line) + 1;
    if (room < 0) break;
    lines.push(line);
  }
  return lines;
}
