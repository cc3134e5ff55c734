/** How the work on a text grows with the text: in processor time, because what else runs here does not count then. */

interface Growth {
  /** Processor time of the work at twice the size over that at the size. */
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
const ATTEMPTS = 6;
/** Less than this much is mostly what a call costs anyway. */
const LEAST_MS = 4;

/**
 * Tries again while it looks worse than linear: a noisy moment passes, a square does not. `prepare` comes before each
 * time the work is done and does not count.
 */
export async function growthOf(
  work: (size: number) => unknown,
  size: number,
  prepare: (size: number) => unknown = () => {},
): Promise<Growth> {
  const leastCpuMs = (asked: number): Promise<number> =>
    leastOf(
      () => prepare(asked),
      () => work(asked),
    );
  let least: Growth = { factor: Infinity, cpuMs: Infinity };
  for (let attempt = 0; attempt < ATTEMPTS && least.factor > LINEAR; attempt += 1) {
    const once = await leastCpuMs(size);
    const twice = await leastCpuMs(2 * size);
    const factor = twice / Math.max(once, LEAST_MS);
    if (factor < least.factor) least = { factor, cpuMs: twice };
  }
  return least;
}

/** Of several runs: others can only add to what the work itself takes. */
async function leastOf(prepare: () => unknown, work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    await prepare();
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
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
