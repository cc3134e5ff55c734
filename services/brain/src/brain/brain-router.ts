/**
 * Reaches any brain of the system, whichever process owns it. Processes that share a data directory share the brains;
 * one at a time owns each, and every other sends it the work over the bus.
 */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, type ErrorDetails, Refusal, type RefusalCode } from '@svc/contract/codes.ts';
import { callErrorOf, type CallFailure, failureOf } from '@svc/contract/rpc.ts';
import { BusError, type Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { isDatabaseAway, poolClient } from '@svc/runtime/transaction.ts';
import { isAbsent } from '../files/fsync.ts';
import { GitError } from '../git/run.ts';
import { readLiveProcesses, readOwner } from '../store/ownership.ts';
import { NotOwner } from '../writer/context.ts';
import type { BrainHost } from './brain-host.ts';
import type { BrainOps, Op } from './ops.ts';

type OpName = keyof BrainOps;
type Reply =
  | { readonly value: unknown }
  | { readonly failure: CallFailure }
  | { readonly refusal: { readonly code: RefusalCode; readonly message: string; readonly details: ErrorDetails } }
  | { readonly moved: true };

interface Request {
  readonly brain: string;
  readonly op: OpName;
  readonly args: Op;
}

/** Doing these twice does no harm, so a lost reply is asked for again. */
const REPEATABLE: ReadonlySet<OpName> = new Set<OpName>([
  'read',
  'list',
  'search',
  'islands',
  'island',
  'branches',
  'openBranch',
  'dirty',
  'changed',
  'summary',
  'leaseView',
  'settle',
  'conflicts',
  'readConflict',
  'history',
  'diff',
]);
const RETRY_MS = 50;
const ABSENT = 404;
const LOOK_FOR_DEATH_MS = 1000;

export class BrainRouter {
  readonly #host: BrainHost;
  readonly #platform: Platform;
  /** Where each brain was last found. */
  readonly #places = new Map<string, string>();
  #subscription: Subscription | null = null;

  constructor(host: BrainHost, platform: Platform) {
    this.#host = host;
    this.#platform = platform;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#platform.bus.respond(processSubject(this.#host.process), (payload) =>
      this.#answer(payload),
    );
  }

  /** Takes no more work from other processes; what is in flight is finished. */
  async drain(): Promise<void> {
    await this.#subscription?.drain();
  }

  /** The operations of a brain, wherever it is. They throw BRAIN_LOAD_FAIL when there is no such brain. */
  brain(name: string): BrainOps {
    const call = (op: OpName) => (args: Op) => this.#call({ brain: name, op, args });
    return new Proxy({} as BrainOps, { get: (_target, op) => call(op as OpName) });
  }

  async #call(request: Request): Promise<unknown> {
    try {
      return await this.#reach(request);
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'BRAIN_LOAD_FAIL' || error.status === ABSENT) throw error;
      // Why a brain does not open is nobody's business who may not see it: to them there is none.
      throw (await this.#host.mayOpen(request.brain, request.args.context)) ? error : new CallError('BRAIN_LOAD_FAIL');
    }
  }

  async #reach(request: Request): Promise<unknown> {
    const { deadlineAt } = request.args.context;
    for (;;) {
      const reply = await this.#tryOnce(request);
      if (reply !== null) return reply.value;
      if (this.#platform.clock.now() + RETRY_MS >= deadlineAt) throw new CallError('SERVICE_UNAVAILABLE');
      await sleep(RETRY_MS);
    }
  }

  /** Null when the brain was not where it was looked for. */
  async #tryOnce(request: Request): Promise<{ value: unknown } | null> {
    const { brain } = request;
    if (this.#host.owns(brain)) return this.#runHere(request);
    const place = this.#places.get(brain) ?? (await this.#locate(brain));
    if (place === this.#host.process) return this.#runHere(request);
    const reply = await this.#ask(place, request);
    if (reply === null || 'moved' in reply) {
      this.#places.delete(brain);
      return null;
    }
    if ('failure' in reply) throw callErrorOf(reply.failure);
    if ('refusal' in reply) throw new Refusal(reply.refusal.code, reply.refusal.details, reply.refusal.message);
    this.#places.set(brain, place);
    return reply;
  }

  /** The living owner, else whoever should claim the brain: the same process for all who ask at the same time. */
  async #locate(brain: string): Promise<string> {
    if (!(await this.#host.exists(brain))) throw new CallError('BRAIN_LOAD_FAIL');
    const client = poolClient(this.#platform.database.pool);
    const { owner, alive } = await readOwner(client, brain);
    if (owner !== null && alive) return owner.process;
    return preferredProcess(brain, await readLiveProcesses(client)) ?? this.#host.process;
  }

  async #runHere({ brain, op, args }: Request): Promise<{ value: unknown } | null> {
    let leave: (() => void) | null = null;
    try {
      await this.#host.dropReplaced(brain);
      const served = await this.#host.enter(brain);
      if (served === null) return null;
      const { operations } = served;
      leave = served.leave;
      const run = operations[op] as (given: Op) => Promise<unknown>;
      const value = await operations.shown(op, args.context, await run.call(operations, args));
      if (!REPEATABLE.has(op) && tookEffect(value)) this.#host.disk.wrote(brain);
      return { value };
    } catch (error) {
      if (error instanceof CallError || error instanceof Refusal) throw error;
      if (error instanceof NotOwner) {
        await this.#host.lose(brain);
        return null;
      }
      throw (await this.#fault(brain, error)) ?? error;
    } finally {
      leave?.();
    }
  }

  /** What an unexpected error means when the disk, or a person at it, is the cause; null = it is a bug. */
  async #fault(brain: string, error: unknown): Promise<Error | null> {
    const refusal = this.#host.disk.refusal(brain, error);
    if (refusal !== null) return refusal;
    await this.#host.dropReplaced(brain);
    if (!(await this.#host.exists(brain))) return new CallError('BRAIN_LOAD_FAIL');
    if (!(error instanceof GitError) && !isAbsent(error)) return null;
    await this.#host.dropDamaged(brain);
    if (!(error instanceof GitError)) return null;
    this.#platform.log.error({ err: error, brain }, 'git refused');
    return new Refusal('E_STATE_WRITE', { reason: 'git' }, 'Git did not take the change; nothing changed.');
  }

  async #ask(process: string, request: Request): Promise<Reply | null> {
    const { deadlineAt } = request.args.context;
    try {
      const asked = this.#platform.bus.request(processSubject(process), JSON.stringify(request), { deadlineAt });
      return JSON.parse(await this.#unlessDead(process, asked)) as Reply;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (error.code === 'TOO_LARGE') throw new CallError('PAYLOAD_TOO_LARGE');
      if (error.undelivered || (REPEATABLE.has(request.op) && error.code === 'DISCONNECTED')) return null;
      throw new CallError(REPEATABLE.has(request.op) ? 'TIMEOUT' : 'E_OUTCOME_UNKNOWN');
    }
  }

  /** A process that dies with work in hand says nothing; its heartbeat does. */
  async #unlessDead(process: string, asked: Promise<string>): Promise<string> {
    let waiting = true;
    const client = poolClient(this.#platform.database.pool);
    const death = async (): Promise<never> => {
      for (;;) {
        await sleep(LOOK_FOR_DEATH_MS, undefined, { ref: false });
        if (!waiting) return new Promise(() => {});
        const living = await readLiveProcesses(client).catch(() => [process]);
        if (!living.includes(process)) throw new BusError('DISCONNECTED', 'the owner of the brain died');
      }
    };
    try {
      return await Promise.race([asked, death()]);
    } finally {
      waiting = false;
    }
  }

  async #answer(payload: string): Promise<string> {
    const reply = await this.#replyTo(JSON.parse(payload) as Request);
    return JSON.stringify(reply);
  }

  async #replyTo(request: Request): Promise<Reply> {
    try {
      return (await this.#runHere(request)) ?? { moved: true };
    } catch (error) {
      if (error instanceof CallError) return { failure: failureOf(error) };
      if (error instanceof Refusal) {
        const { code, message, details } = error;
        return { refusal: { code, message, details } };
      }
      this.#platform.log.error(
        { err: error, op: request.op, brain: request.brain },
        'an operation for another process failed',
      );
      return { failure: failureOf(new CallError(isDatabaseAway(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL')) };
    }
  }
}

/** Whether an operation that changes something did so, or had done. */
function tookEffect(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { ok, decision } = value as { ok?: unknown; decision?: { ok?: unknown } };
  return (decision?.ok ?? ok) === true;
}

function processSubject(process: string): string {
  return `brain.process.${process}`;
}

/** Rendezvous hashing: each brain has its own order of processes, so a lost one's brains spread over the rest. */
export function preferredProcess(brain: string, processes: readonly string[]): string | null {
  let best: { process: string; weight: string } | null = null;
  for (const process of processes) {
    const weight = hash('sha256', `${brain}\0${process}`, 'hex');
    if (best === null || weight > best.weight) best = { process, weight };
  }
  return best?.process ?? null;
}
