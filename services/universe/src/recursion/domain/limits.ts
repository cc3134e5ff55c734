/** How far one call goes. What is beyond is told as cut off, never left out in silence. */
export const MAX_DEPTH = 64;
export const MAX_NODES = 10_000;
export const MAX_ITEMS = 1000;
/** Of tools, and how many of them at a time. */
export const MAX_CALLS = 50;
export const CALLS_AT_ONCE = 4;
export const MAX_TIME_MS = 5000;
export const MAX_RESULT_BYTES = 2 ** 20;

/** Lets somebody go on until a time, and until what was said is too long. */
export interface Allowance {
  isOver(): boolean;
  /** False = it does not fit any more, and nothing more does. */
  takes(value: unknown): boolean;
}

export function allowanceUntil(now: () => number, endsAt: number): Allowance {
  let left = MAX_RESULT_BYTES;
  return {
    isOver: () => left < 0 || now() >= endsAt,
    takes(value) {
      if (left >= 0) left -= Buffer.byteLength(JSON.stringify(value) ?? 'null') + 1;
      return left >= 0;
    },
  };
}
