/** Asking the registry of identities, with what it said kept for exactly as long as it stays true. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ERRORS, CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import {
  ASKED_WITHIN_MS,
  MAX_SESSIONS_ASKED,
  REGISTRY,
  type RegistryAnswer,
  type RegistryAsk,
  type RegistryQuestion,
  type RegistryStamp,
} from '@svc/contract/registry.ts';
import { LRUCache } from 'lru-cache';
import { BusError } from './bus.ts';
import type { StatelessPlatform } from './platform.ts';

/** `at`: clock of the registry's database, in ms. `current`: the workspace that the asked session has set, or null. */
export interface Revision {
  readonly stamp: RegistryStamp;
  readonly at: number;
  readonly current: string | null;
}

export interface RegistryClient {
  /** What the registry stands at, read after this call began; calls at the same time share a question. */
  revision(session?: string): Promise<Revision>;
  /** Throws SERVICE_UNAVAILABLE when nobody answers, else the code the registry answered with. */
  ask<Question extends RegistryQuestion>(
    question: Question,
    args: RegistryAsk<Question>,
  ): Promise<RegistryAnswer<Question>>;
}

/** What crosses the bus as the reply to any of the questions. */
export type RegistryReply =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly code: CallErrorCode; readonly message?: string };

const UNDELIVERED_PAUSES_MS = [10, 30, 60];
/** Asked again, they would answer that there was nothing to do. */
const ASKED_ONCE: ReadonlySet<RegistryQuestion> = new Set(['claim', 'copyPolicies', 'provision', 'recordTrade']);
const MAX_QUESTIONS_AT_ONCE = 2;

type Parts = Pick<StatelessPlatform, 'bus' | 'clock'>;

export function createRegistryClient({ bus, clock }: Parts): RegistryClient {
  async function ask<Question extends RegistryQuestion>(
    question: Question,
    args: RegistryAsk<Question>,
  ): Promise<RegistryAnswer<Question>> {
    const { subject, answer } = REGISTRY[question];
    const reply = await requestPatiently({ bus, clock }, subject, JSON.stringify(args), !ASKED_ONCE.has(question));
    if (!reply.ok) throw callErrorOf(reply);
    return answer.parse(reply.answer) as RegistryAnswer<Question>;
  }
  async function readRevision(sessions: readonly string[]): Promise<RegistryAnswer<'revision'>> {
    const [first, ...others] = await Promise.all(
      portionsOf(sessions).map((portion) => ask('revision', { sessions: portion })),
    );
    if (first === undefined) throw new Error('a question without portions');
    return { ...first, current: Object.assign(first.current, ...others.map(({ current }) => current)) };
  }
  return { ask, revision: createRevisions(readRevision) };
}

function callErrorOf({ code, message }: Extract<RegistryReply, { ok: false }>): CallError {
  return Object.hasOwn(CALL_ERRORS, code) ? new CallError(code, message) : new CallError('INTERNAL');
}

/** At least one, though it be empty. */
function portionsOf(sessions: readonly string[]): string[][] {
  const count = Math.max(1, Math.ceil(sessions.length / MAX_SESSIONS_ASKED));
  return Array.from({ length: count }, (_, index) =>
    sessions.slice(index * MAX_SESSIONS_ASKED, (index + 1) * MAX_SESSIONS_ASKED),
  );
}

/** A service that is being replaced is away for a moment. */
async function requestPatiently(
  { bus, clock }: Parts,
  subject: string,
  payload: string,
  isRepeatable: boolean,
): Promise<RegistryReply> {
  const deadlineAt = clock.now() + ASKED_WITHIN_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return JSON.parse(await bus.request(subject, payload, { deadlineAt, isRepeatable })) as RegistryReply;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      const isLost = error.code === 'DISCONNECTED' || (isRepeatable && error.code === 'SILENT');
      const pauseMs = error.undelivered || isLost ? UNDELIVERED_PAUSES_MS[attempt] : undefined;
      if (pauseMs === undefined) throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
      await sleep(pauseMs);
    }
  }
}

interface Round {
  readonly sessions: Set<string>;
  readonly answer: PromiseWithResolvers<RegistryAnswer<'revision'>>;
}

/** Callers that come while questions are under way wait for the next one: an answer is never older than its caller. */
function createRevisions(
  read: (sessions: readonly string[]) => Promise<RegistryAnswer<'revision'>>,
): RegistryClient['revision'] {
  let waiting: Round | null = null;
  let underWay = 0;

  function begin(): void {
    if (waiting === null || underWay === MAX_QUESTIONS_AT_ONCE) return;
    const { sessions, answer } = waiting;
    waiting = null;
    underWay += 1;
    read([...sessions])
      .then(answer.resolve, answer.reject)
      .finally(() => {
        underWay -= 1;
        begin();
      });
  }

  return async (session) => {
    if (waiting === null) {
      waiting = { sessions: new Set(), answer: Promise.withResolvers() };
      // Not before everything that came in this turn of the event loop has joined.
      setImmediate(begin);
    }
    if (session !== undefined) waiting.sessions.add(session);
    const { stamp, at, current } = await waiting.answer.promise;
    return { stamp, at, current: session === undefined ? null : (current[session] ?? null) };
  };
}

/** A memory of answers, each used only while the part of the stamp it hangs on is the one it was read under. */
export interface StampedCache<Value, Source = string> {
  /** Callers at the same time share a reading. Throws what `read` throws. */
  get(source: Source, stamp: RegistryStamp): Promise<Value>;
}

export interface StampedCacheOptions<Value, Source = string> {
  readonly hangsOn: keyof RegistryStamp;
  readonly max: number;
  /** Under what an answer is kept; absent = the source itself. */
  keyOf?(source: Source): string;
  read(source: Source): Promise<{ readonly stamp: RegistryStamp; readonly value: Value }>;
}

interface KeptAnswer<Value> {
  readonly under: number;
  readonly value: Value;
}

/** A reading that others began may be older than the caller's stamp; one begun after it never is. */
const MAX_READINGS = 3;

export function createStampedCache<Value, Source = string>({
  hangsOn,
  max,
  read,
  keyOf = String,
}: StampedCacheOptions<Value, Source>): StampedCache<Value, Source> {
  const kept = new LRUCache<string, KeptAnswer<Value>>({ max, allowStale: false });
  const underWay = new Map<string, Promise<KeptAnswer<Value>>>();

  async function readAndKeep(key: string, source: Source): Promise<KeptAnswer<Value>> {
    const { stamp, value } = await read(source);
    const answer = { under: stamp[hangsOn], value };
    kept.set(key, answer);
    return answer;
  }

  function reading(key: string, source: Source): Promise<KeptAnswer<Value>> {
    let answer = underWay.get(key);
    if (answer === undefined) {
      answer = readAndKeep(key, source).finally(() => underWay.delete(key));
      underWay.set(key, answer);
    }
    return answer;
  }

  return {
    async get(source, stamp) {
      const key = keyOf(source);
      const known = kept.get(key);
      if (known?.under === stamp[hangsOn]) return known.value;
      for (let attempt = 0; attempt < MAX_READINGS; attempt += 1) {
        const answer = await reading(key, source);
        if (answer.under >= stamp[hangsOn]) return answer.value;
      }
      throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
    },
  };
}
