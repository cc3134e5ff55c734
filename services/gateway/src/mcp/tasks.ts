/** Tasks: long calls whose result is asked for later, through any gateway, by the principal that began them. */
import { randomBytes } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { type Answered, resultObject } from '../domain/mcp-results.ts';
import {
  answeredWith,
  ended,
  isOver,
  TASK_KEPT_MS,
  type TaskCall,
  type TaskEnd,
  type TaskInputs,
  type TaskRecord,
  waitingFor,
} from '../domain/mcp-tasks.ts';
import { errorMember, INVALID_PARAMS, McpError } from '../domain/mcp-wire.ts';
import { createShelf, type Shelf } from './shelf.ts';
import { taskMembers } from './task-view.ts';
import { createTaskLeases, LEASE_BEAT_MS, type TaskLeases } from './task-leases.ts';

/** What a task may do while it is worked on. */
export interface TaskControl {
  /** Aborted when the task was cancelled. */
  readonly signal: AbortSignal;
  /** Asks the client; resolves when all of it was answered, rejects when the task was cancelled. */
  ask(requests: TaskInputs): Promise<TaskInputs>;
}

/** Resolves with the result of the call. What it throws is an error of the protocol. */
export type TaskWork = (control: TaskControl) => Promise<Answered>;

export interface NewTask {
  readonly id: string;
  readonly principal: string;
  /** Who counts for how many there are. */
  readonly owner: string;
  readonly requestId: string;
  readonly call: TaskCall | null;
  readonly work: TaskWork;
}

/** The work of a call whose gateway was lost. Throws CallError when whoever asks may not make it, or cannot now. */
export type ResumeTask = (call: TaskCall) => Promise<TaskWork>;

export interface Tasks {
  newId(): string;
  /** Resolves when it can be asked for; null when there are too many of that owner or in all, or this gateway goes away. */
  start(task: NewTask): Promise<Answered | null>;
  /**
   * A task that nobody works on any more is taken up here. Throws McpError when it is none of this principal, and what
   * `resume` throws: then it stays for whoever asks next.
   */
  get(
    id: string,
    asked: { readonly principal: string; readonly requestId: string; resume: ResumeTask },
  ): Promise<Answered>;
  update(id: string, principal: string, responses: TaskInputs): Promise<Answered>;
  cancel(id: string, principal: string): Promise<Answered>;
  count(): Promise<number>;
  /** This gateway goes away: others may take up at once what it has in hand. */
  leave(): Promise<void>;
}

const RULES = {
  kind: 'task',
  keptMs: TASK_KEPT_MS,
  isRenewed: false,
  maxInAll: 2000,
  maxEach: 50,
  whenOwnerIsFull: 'refuse',
} as const;
const ID = /^[0-9a-f]{32}$/;
const ACKNOWLEDGED: Answered = { members: '' };
const CANCELLED = 'Nobody waits for the result any more; what the tool had begun may still take effect.';

interface Running {
  readonly controller: AbortController;
  answers: TaskInputs;
  /** Called when more answers came. */
  wake: (() => void) | null;
}

type TaskPlatform = Pick<StatelessPlatform, 'shared' | 'clock' | 'log' | 'node'>;

export class TaskDesk implements Tasks {
  readonly #platform: TaskPlatform;
  readonly #shelf: Shelf<TaskRecord>;
  readonly #leases: TaskLeases;
  readonly #running = new Map<string, Running>();
  #hasLeft = false;

  constructor(platform: TaskPlatform) {
    this.#platform = platform;
    this.#shelf = createShelf(platform.shared, RULES);
    this.#leases = createTaskLeases(platform.shared, platform.node.instance);
  }

  newId(): string {
    return randomBytes(16).toString('hex');
  }

  async start({ id, principal, owner, requestId, call, work }: NewTask): Promise<Answered | null> {
    const now = this.#platform.clock.now();
    const record: TaskRecord = { principal, status: 'working', createdAt: now, lastUpdatedAt: now, call };
    if (this.#hasLeft || !(await this.#shelf.put(id, owner, record))) return null;
    await this.#leases.hold(id);
    this.#begin(id, { work, requestId });
    return { type: 'task', members: taskMembers(id, record, false) };
  }

  async get(id: string, { principal, ...asked }: Parameters<Tasks['get']>[1]): Promise<Answered> {
    let record = await this.#find(id, principal);
    if (!isOver(record) && !this.#running.has(id) && !(await this.#leases.isHeld(id))) {
      // It may have ended between the two looks.
      record = await this.#find(id, principal);
      if (!isOver(record)) record = await this.#takeUp(id, record, asked);
    }
    return { members: taskMembers(id, record, true) };
  }

  async update(id: string, principal: string, responses: TaskInputs): Promise<Answered> {
    await this.#find(id, principal);
    await this.#shelf.change(id, (record) => answeredWith(record, responses, this.#platform.clock.now()));
    const mine = this.#running.get(id);
    if (mine !== undefined) {
      mine.answers = { ...mine.answers, ...responses };
      mine.wake?.();
    }
    return ACKNOWLEDGED;
  }

  async cancel(id: string, principal: string): Promise<Answered> {
    await this.#find(id, principal);
    await this.#end(id, { status: 'cancelled', statusMessage: CANCELLED });
    const mine = this.#running.get(id);
    mine?.controller.abort();
    mine?.wake?.();
    return ACKNOWLEDGED;
  }

  count(): Promise<number> {
    return this.#shelf.size();
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await Promise.allSettled([...this.#running.keys()].map((id) => this.#leases.drop(id)));
  }

  async #find(id: string, principal: string): Promise<TaskRecord> {
    const record = ID.test(id) ? await this.#shelf.get(id) : null;
    if (record === null || record.principal !== principal) throw new McpError(INVALID_PARAMS, 'There is no such task.');
    return record;
  }

  #end(id: string, outcome: TaskEnd): Promise<TaskRecord | null> {
    return this.#shelf.change(id, (record) => ended(record, outcome, this.#platform.clock.now()));
  }

  #begin(id: string, task: Pick<NewTask, 'work' | 'requestId'>): void {
    this.#perform(id, task).catch((error: unknown) => {
      this.#platform.log.warn({ err: error, requestId: task.requestId }, 'the end of a task could not be kept');
    });
  }

  async #perform(id: string, task: Pick<NewTask, 'work' | 'requestId'>): Promise<void> {
    const mine: Running = { controller: new AbortController(), answers: {}, wake: null };
    this.#running.set(id, mine);
    const beat = setInterval(() => {
      // One that is missed is made good by the next; after several, another gateway takes the task up.
      if (!this.#hasLeft) this.#leases.hold(id).catch(() => {});
    }, LEASE_BEAT_MS);
    beat.unref();
    try {
      // What cannot be kept is no outcome: whoever asks has the call made again under its key.
      await this.#end(id, await this.#outcomeOf(id, mine, task));
    } finally {
      clearInterval(beat);
      this.#running.delete(id);
      await this.#leases.drop(id);
    }
  }

  /** Never rejects. */
  async #outcomeOf(
    id: string,
    mine: Running,
    { work, requestId }: Pick<NewTask, 'work' | 'requestId'>,
  ): Promise<TaskEnd> {
    const { signal } = mine.controller;
    try {
      const result = await work({ signal, ask: (requests) => this.#askClient(id, mine, requests) });
      return { status: 'completed', result: resultObject(result) };
    } catch (error) {
      const failure = error instanceof CallError || error instanceof McpError ? error : new CallError('INTERNAL');
      if (failure !== error && !signal.aborted) this.#platform.log.error({ err: error, requestId }, 'a task failed');
      return { status: 'failed', error: errorMember(failure, requestId), statusMessage: failure.message };
    }
  }

  async #askClient(id: string, mine: Running, requests: TaskInputs): Promise<TaskInputs> {
    await this.#shelf.change(id, (record) => waitingFor(record, requests, this.#platform.clock.now()));
    while (!Object.keys(requests).every((key) => Object.hasOwn(mine.answers, key))) {
      await new Promise<void>((resolve) => {
        mine.wake = resolve;
      });
      mine.controller.signal.throwIfAborted();
    }
    return mine.answers;
  }

  /** Nobody works on it any more. */
  async #takeUp(
    id: string,
    record: TaskRecord,
    { requestId, resume }: { readonly requestId: string; resume: ResumeTask },
  ): Promise<TaskRecord> {
    if (record.call === null) {
      const lost = new CallError('E_OUTCOME_UNKNOWN');
      const error = errorMember(lost, requestId);
      return (await this.#end(id, { status: 'failed', error, statusMessage: lost.message })) ?? record;
    }
    const work = await resume(record.call);
    if (!this.#hasLeft && (await this.#leases.hold(id))) this.#begin(id, { work, requestId });
    return record;
  }
}
