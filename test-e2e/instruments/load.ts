/** Clients that write, read and remember what was acknowledged, while something happens to the system. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, codeOf, type Reply } from '../client.ts';
import { Ledger } from './ledger.ts';

export interface Outcome {
  /** Of `performance.now()`, when the reply came. */
  readonly at: number;
  readonly ms: number;
  /** null = success; a code of the system; or `transport: …` when there was no reply. */
  readonly problem: string | null;
  readonly status: number;
  /** What was said of a problem: the beginning of the answer. */
  readonly said: string;
}

interface LoadOptions {
  readonly clients: number;
  readonly brain: string;
  /** Of every so many operations one is a read. */
  readonly readEvery: number;
  readonly pauseMs?: number;
}

const FILES_PER_CLIENT = 5;
/** A refused connection fails at once: without a pause the load would only measure how fast that goes. */
const PAUSE_AFTER_PROBLEM_MS = 25;
const SAID_CHARACTERS = 300;

export class Load {
  readonly outcomes: Outcome[] = [];
  readonly ledger = new Ledger();
  readonly #callers: readonly Caller[];
  readonly #options: LoadOptions;
  readonly #work: Promise<unknown>;
  readonly #end = new AbortController();

  constructor(callers: readonly Caller[], options: LoadOptions) {
    this.#callers = callers;
    this.#options = options;
    this.#work = Promise.all(Array.from({ length: options.clients }, (_, client) => this.#run(client)));
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#work;
  }

  /** Successes between two moments of `performance.now()`. */
  successes(from: number, to: number): number {
    return this.outcomes.filter(({ at, problem }) => problem === null && at >= from && at < to).length;
  }

  /** Problem -> how often. */
  problems(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { problem } of this.outcomes) {
      if (problem !== null) counts.set(problem, (counts.get(problem) ?? 0) + 1);
    }
    return counts;
  }

  async #run(client: number): Promise<void> {
    const { readEvery, pauseMs = 0 } = this.#options;
    const caller = this.#callers[client % this.#callers.length];
    if (caller === undefined) throw new Error('a load without callers');
    for (let step = 0; !this.#end.signal.aborted; step += 1) {
      const file = `load/c${client}-${step % FILES_PER_CLIENT}.md`;
      const problem =
        step % readEvery === 0 ? await this.#read(caller, file) : await this.#write(caller, file, `${client} ${step}`);
      await delay(problem === null ? pauseMs : PAUSE_AFTER_PROBLEM_MS);
    }
  }

  /** Each problem with its moment (`performance.now()`), how long its call took, and what was said of it. */
  failures(): string[] {
    return this.outcomes
      .filter(({ problem }) => problem !== null)
      .map(({ at, ms, problem, said }) => `${problem} at ${Math.round(at)} after ${Math.round(ms)} ms: ${said}`);
  }

  #read(caller: Caller, name: string): Promise<string | null> {
    const fine = this.ledger.has(name) ? null : 'E_FILE_ABSENT';
    return this.#note(() => caller.call('brain_read', { brain: this.#options.brain, name }), fine);
  }

  async #write(caller: Caller, name: string, content: string): Promise<string | null> {
    this.ledger.sent(name, content);
    const problem = await this.#note(
      () => caller.call('brain_write', { brain: this.#options.brain, name, content }),
      null,
    );
    if (problem === null) this.ledger.acknowledged(name, content);
    return problem;
  }

  async #note(send: () => Promise<Reply>, fine: string | null): Promise<string | null> {
    const startedAt = performance.now();
    const judgement = await judged(send, fine);
    const at = performance.now();
    this.outcomes.push({ at, ms: at - startedAt, ...judgement });
    return judgement.problem;
  }
}

async function judged(
  send: () => Promise<Reply>,
  fine: string | null,
): Promise<Pick<Outcome, 'problem' | 'status' | 'said'>> {
  try {
    const reply = await send();
    const code = codeOf(reply);
    const said = code === null && reply.status === 200 ? '' : reply.text.slice(0, SAID_CHARACTERS);
    const problem = code ?? (reply.status === 200 ? null : `status ${reply.status} ${reply.text.slice(0, 100)}`);
    return { problem: problem === fine ? null : problem, status: reply.status, said };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { problem: `transport: ${code ?? message}`, status: 0, said: message };
  }
}

/** Reader for `Ledger.lost`. */
export function reader(caller: Caller, brain: string): (file: string) => Promise<string | null> {
  return async (name) => {
    const reply = await caller.call('brain_read', { brain, name });
    const code = codeOf(reply);
    if (code === 'E_FILE_ABSENT') return null;
    if (code !== null) throw new Error(`${name} cannot be read: ${reply.text}`);
    return String(reply.body.result?.content);
  };
}
