/** Asking the registry of identities, with what it said kept for exactly as long as it stays true. */
import { CallError } from '@svc/contract/codes.ts';
import { HABITAT, type HabitatAnswer, MAX_SESSIONS_ASKED } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { LRUCache } from 'lru-cache';
import { type AskingPlatform, createOperationClient, type OperationClient } from './operations.ts';

/** `at`: clock of the registry's database, in ms. `current`: the workspace that the asked session has set, or null. */
export interface Revision {
  readonly stamp: RegistryStamp;
  readonly at: number;
  readonly current: string | null;
}

/** What the service `Asker` may ask of habitat. */
export type RegistryClient<Asker extends string> = Omit<OperationClient<typeof HABITAT, Asker>, 'revision'> & {
  /** What the registry stands at, read after this call began; calls at the same time share a question. */
  revision(session?: string): Promise<Revision>;
};

const MAX_QUESTIONS_AT_ONCE = 2;

export function createRegistryClient<const Asker extends string>(
  platform: AskingPlatform,
  asker: Asker,
): RegistryClient<Asker> {
  const { revision } = createOperationClient<typeof HABITAT, string>(platform, HABITAT, asker);
  async function readRevision(sessions: readonly string[]): Promise<HabitatAnswer<'revision'>> {
    const [first, ...others] = await Promise.all(
      portionsOf(sessions).map((portion) => revision({ sessions: portion })),
    );
    if (first === undefined) throw new Error('a question without portions');
    return { ...first, current: Object.assign(first.current, ...others.map(({ current }) => current)) };
  }
  return { ...createOperationClient(platform, HABITAT, asker), revision: createRevisions(readRevision) };
}

/** At least one, though it be empty. */
function portionsOf(sessions: readonly string[]): string[][] {
  const count = Math.max(1, Math.ceil(sessions.length / MAX_SESSIONS_ASKED));
  return Array.from({ length: count }, (_, index) =>
    sessions.slice(index * MAX_SESSIONS_ASKED, (index + 1) * MAX_SESSIONS_ASKED),
  );
}

interface Round {
  readonly sessions: Set<string>;
  readonly answer: PromiseWithResolvers<HabitatAnswer<'revision'>>;
}

/** Callers that come while questions are under way wait for the next one: an answer is never older than its caller. */
function createRevisions(
  read: (sessions: readonly string[]) => Promise<HabitatAnswer<'revision'>>,
): (session?: string) => Promise<Revision> {
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
interface StampedCache<Value, Source = string> {
  /** At once what is known; callers at the same time share a reading. Rejects with what `read` throws. */
  get(source: Source, stamp: RegistryStamp): Value | Promise<Value>;
}

interface StampedCacheOptions<Value, Source = string> {
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

  async function readUnder(least: number, key: string, source: Source): Promise<Value> {
    for (let attempt = 0; attempt < MAX_READINGS; attempt += 1) {
      const answer = await reading(key, source);
      if (answer.under >= least) return answer.value;
    }
    throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
  }

  return {
    get(source, stamp) {
      const under = stamp[hangsOn];
      const key = keyOf(source);
      const known = kept.get(key);
      return known?.under === under ? known.value : readUnder(under, key, source);
    },
  };
}
