/**
 * A bus on which one question of the universe is held up, before anybody hears it or before its answer is heard: what asked is
 * cut off there as by a kill, and goes on when it is let go, as a process does that stood still.
 */
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { JobDeclaration, Jobs } from '@svc/runtime/jobs.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';

export type Moment = 'unasked' | 'unanswered';
export const MOMENTS: readonly Moment[] = ['unasked', 'unanswered'];

export interface Cut {
  readonly reached: Promise<void>;
  letGo(): void;
}

interface CutBus {
  readonly bus: Bus;
  /** What the universe goes on with by itself would be counted too: it does so when a test says it. */
  readonly jobs: Jobs;
  /** Operations that were asked for while `work` was done, in turn. */
  askedDuring(work: () => Promise<unknown>): Promise<readonly string[]>;
  /** Holds up the question of that number from now on, counted from 0; all others pass. */
  cutAt(index: number, moment: Moment): Cut;
}

/** `operations` = those that count. */
export function createCutBus(operations: readonly string[]): CutBus {
  const inner = createLocalBus();
  const jobs = createLocalJobs({ log: createLog('silent', {}) });
  const schedule = async (job: JobDeclaration): Promise<void> =>
    job.id.startsWith('universe.') ? undefined : jobs.schedule(job);
  let asked: string[] = [];
  let plan: { readonly index: number; readonly moment: Moment; readonly hold: () => Promise<void> } | null = null;

  const request: Bus['request'] = async (subject, payload, options) => {
    const operation = /^op\.\w+\.universe\.(\w+)$/.exec(subject)?.[1];
    if (operation === undefined || !operations.includes(operation)) return inner.request(subject, payload, options);
    const number = asked.push(operation) - 1;
    const cut = plan?.index === number ? plan : null;
    if (cut?.moment === 'unasked') await cut.hold();
    const answer = inner.request(subject, payload, options);
    if (cut?.moment === 'unanswered') {
      await answer.catch(() => undefined);
      await cut.hold();
    }
    return answer;
  };

  return {
    jobs: { ...jobs, schedule },
    bus: new Proxy(inner, {
      get(target, name) {
        if (name === 'request') return request;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    }),
    async askedDuring(work) {
      asked = [];
      await work();
      return asked;
    },
    cutAt(index, moment) {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const hold = async (): Promise<void> => {
        plan = null;
        reached.resolve();
        await released.promise;
      };
      asked = [];
      plan = { index, moment, hold };
      return { reached: reached.promise, letGo: () => released.resolve() };
    },
  };
}
