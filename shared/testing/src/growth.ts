/** How the work on a text grows with the text: in processor time, because what else runs here does not count then. */

interface Growth {
  /** Processor time of the work at twice the size over that at the size, or the mean of two such doublings. */
  readonly factor: number;
  /** At twice the size, in milliseconds. */
  readonly cpuMs: number;
}

export type Args = Readonly<Record<string, unknown>>;
export type ToolCall = readonly [tool: string, args: Args];

/** One call at any size. */
export interface GrowthCase {
  readonly name: string;
  /** UTF-16 units at which twice as much is still legal, and a square would show. */
  readonly size: number;
  /** Made before the measured call; `run` is different each time, so that nothing is remembered. */
  prepare?(size: number, run: number): readonly ToolCall[];
  call(size: number, run: number): ToolCall;
}

/** What doubles with its input has 2; the rest is for the noise of collecting garbage and of warming up. */
export const LINEAR = 2.6;

const RUNS = 2;
/** Where one look finds no more than this there is no other: a square, which has 4, would have to look little more than half as steep. */
const CLEARLY_LINEAR = 2.2;
/** What grows too fast does so each time; only noise passes. */
const ATTEMPTS = 6;
/**
 * At half of the largest size. Less than this much is mostly what a call costs anyway, and what memory costs from the size
 * on at which a text is a large object (128 KiB): there a call takes several times as long, and where pages are slow 6 ms
 * more. A square over texts of the sizes that are asked for takes seconds.
 */
const LEAST_MS = 10;

/**
 * Looks again while it looks worse than linear: a noisy moment passes, a square does not. It looks more widely too: the
 * step that a machine makes at one size, where a cache is full, is no step of the next doubling. `prepare` comes before
 * each time the work is done and does not count. What is measured once at one size is measured twice at half of it: the
 * same number of bytes, so that garbage, which is collected when there is enough of it, falls to both alike.
 */
export async function growthOf(
  work: (size: number) => unknown,
  size: number,
  prepare: (size: number) => unknown = () => {},
): Promise<Growth> {
  const meanCpuMs = async (asked: number, times: number, runs: number): Promise<number> => {
    const cpuMs = await leastOf(
      { times, runs },
      () => prepare(asked),
      () => work(asked),
    );
    return cpuMs / times;
  };
  const growthOver = async (span: number, runs = RUNS): Promise<Growth> => {
    const part = await meanCpuMs(Math.floor((2 * size) / span), span, runs);
    const cpuMs = await meanCpuMs(2 * size, 1, runs);
    return { factor: cpuMs / Math.max(part, (2 * LEAST_MS) / span), cpuMs };
  };
  const glance = await growthOver(2, 1);
  if (glance.factor <= CLEARLY_LINEAR) return glance;
  let least: Growth = { factor: Infinity, cpuMs: Infinity };
  for (let attempt = 0; attempt < ATTEMPTS && least.factor > LINEAR; attempt += 1) {
    const doubled = await growthOver(2);
    if (doubled.factor < least.factor) least = doubled;
    if (doubled.factor <= LINEAR) break;
    const wide = await growthOver(4);
    const each = { ...wide, factor: Math.sqrt(wide.factor) };
    if (each.factor < least.factor) least = each;
  }
  return least;
}

interface Repetition {
  readonly times: number;
  readonly runs: number;
}

/** Of several runs of `times` times the work: others can only add to what the work itself takes. */
async function leastOf({ times, runs }: Repetition, prepare: () => unknown, work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run += 1) {
    let cpuMs = 0;
    for (let time = 0; time < times; time += 1) {
      await prepare();
      cpuMs += await cpuMsOf(work);
    }
    least = Math.min(least, cpuMs);
  }
  return least;
}

async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Settles with whatever a call is answered; only with a bug it throws. `isAnswer` = which codes are no bugs. */
export async function answered(
  call: Promise<unknown>,
  isAnswer: (code: string) => boolean = (code) => code !== 'INTERNAL',
): Promise<void> {
  await call.catch((error: Error) => {
    if (!isAnswer(error.message)) throw error;
  });
}

interface CasesOfGrowth {
  grow(one: GrowthCase, size: number): Promise<Growth>;
  /** What goes before it is done; the call itself is up to the caller. */
  ready(one: GrowthCase, size: number): Promise<ToolCall>;
}

/** Cases whose calls `tell` makes; no two of their runs have the same texts. */
export function casesToldBy(tell: (call: ToolCall) => Promise<void>): CasesOfGrowth {
  let run = 0;
  const prepared = async ({ prepare }: GrowthCase, size: number): Promise<void> => {
    run += 2;
    for (const one of prepare?.(size, run) ?? []) await tell(one);
  };
  return {
    grow: (one, size) =>
      growthOf(
        (asked) => tell(one.call(asked, run)),
        size,
        (asked) => prepared(one, asked),
      ),
    async ready(one, size) {
      await prepared(one, size);
      return one.call(size, run);
    },
  };
}
