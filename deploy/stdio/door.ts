/** The way to /mcp of whichever node there is now; what is lost with a node is sent again to the next one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lossOf, NOBODY_BEHIND } from '@svc/client/exchange.ts';
import { reasonOf } from '@svc/runtime/start-problem.ts';
import type { FoundNode } from './find-node.ts';

interface DoorRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Exchange<Read> {
  readonly request: DoorRequest;
  readonly signal: AbortSignal;
  /** For the whole reply, each time it is asked for; as long as it takes when absent. */
  readonly answerWithinMs?: number;
  /** Of the reply; done again with the next reply when the connection breaks under it. */
  read(reply: Response): Promise<Read>;
}

export class NoAnswer extends Error {
  /** What was asked for may have been done. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived: boolean, cause?: unknown) {
    super(message, { cause });
    this.mayHaveArrived = mayHaveArrived;
  }
}

export interface Door {
  /** Throws the reason of the signal, or NoAnswer when no node answers in time. */
  exchange<Read>(exchange: Exchange<Read>): Promise<Read>;
  leave(): void;
}

export interface DoorParts {
  readonly join: () => Promise<FoundNode>;
  /** Names the caller; goes with each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
  readonly withinMs: number;
}

/** Who takes connections and says nothing is no node, or one that stands still. */
export const ANSWER_WITHIN_MS = 21_000;

const PAUSE_MS = 50;
/** How often a request that is lost with its node gets the whole time anew; one that ends its node each time is given up. */
const MAX_LOST = 3;

export function createDoor({ join, headers, query, withinMs }: DoorParts): Door {
  let joined: Promise<FoundNode> | null = null;

  const drop = (node: Promise<FoundNode>): void => {
    if (joined === node) joined = null;
    void node.then((found) => found.leave()).catch(() => {});
  };

  /** One search for all who ask meanwhile; one that fails is not remembered. */
  function current(): Promise<FoundNode> {
    if (joined !== null) return joined;
    const search = join();
    joined = search;
    search.catch(() => drop(search));
    return search;
  }

  return {
    async exchange({ request, signal, answerWithinMs, read }) {
      let endsAt = performance.now() + withinMs;
      let lost = 0;
      let mayHaveArrived = false;
      for (;;) {
        signal.throwIfAborted();
        const node = current();
        const { url } = await node.catch((error: unknown) => {
          throw new NoAnswer(error instanceof Error ? error.message : String(error), mayHaveArrived, error);
        });
        try {
          const ended = endedBy(signal, answerWithinMs);
          const all = { ...request, headers: { ...headers, ...request.headers } };
          return await read(await replyTo(`${url}/mcp${query}`, all, ended));
        } catch (error) {
          signal.throwIfAborted();
          drop(node);
          mayHaveArrived ||= lossOf(error, url).sent;
          // However long a node had it in hand: the search for the next one begins now.
          if (isLost(error) && (lost += 1) <= MAX_LOST) endsAt = performance.now() + withinMs;
          if (performance.now() > endsAt)
            throw new NoAnswer(`no node answers at ${url}: ${reasonOf(beneath(error))}`, mayHaveArrived, error);
          await sleep(PAUSE_MS);
        }
      }
    },
    leave() {
      if (joined !== null) drop(joined);
    },
  };
}

async function replyTo(url: string, request: DoorRequest, signal: AbortSignal): Promise<Response> {
  // What a redirect leads to would be asked something else, with a GET, for as long as that goes on.
  const reply = await fetch(url, { ...request, redirect: 'manual', signal });
  if (!isOfNobody(reply)) return reply;
  await reply.body?.cancel();
  throw new Error(`what is there answered ${reply.status}`);
}

/** A proxy says so while there is no node behind it, or lost the one that it had handed the request to. */
function isOfNobody({ status, headers }: Response): boolean {
  return NOBODY_BEHIND.has(status) && headers.get('content-type')?.startsWith('application/json') !== true;
}

function endedBy(signal: AbortSignal, withinMs: number | undefined): AbortSignal {
  return withinMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
}

const BROKEN: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** The connection was there, and broke. */
function isLost(error: unknown): boolean {
  const reason = beneath(error);
  return reason instanceof Error && 'code' in reason && BROKEN.has(reason.code);
}

/** `fetch` says only that it failed. */
function beneath(error: unknown): unknown {
  return error instanceof Error ? (error.cause ?? error) : error;
}
