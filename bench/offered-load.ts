/** What is asked of the load generator, and what it answers. */
import { startNode } from './process.ts';

export interface LoadPlan {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
  /** Load before the measured time; 0 = none. */
  readonly warmupSeconds: number;
  /** Sent in turn. `{number}` counts the requests, `{slot}` is that number modulo `slots`. */
  readonly bodies: readonly string[];
  readonly slots: number;
  /** Continues the numbers of an earlier plan. */
  readonly firstNumber: number;
  /** A reply with this text counts as failed. */
  readonly unwanted: string;
}

export interface LoadResult {
  /** Replies with a good status. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
  /** Replies in all, those of the warm-up too. */
  readonly replies: number;
  readonly lastNumber: number;
}

export async function offerLoad(plan: LoadPlan): Promise<LoadResult> {
  const { code, output } = await startNode('bench/load.ts', [JSON.stringify(plan)]).ended;
  if (code !== 0) throw new Error(`the load generator failed:\n${output}`);
  return JSON.parse(output) as LoadResult;
}
