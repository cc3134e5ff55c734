/** Long work in slices that let everybody else in. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 5;

export class Slices {
  #since = performance.now();

  /** Whether the slice has lasted long enough for a `pause`. */
  get isOver(): boolean {
    return performance.now() - this.#since >= SLICE_MS;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }

  /** Runs the steps to their end. */
  async run<Result>(steps: Iterator<void, Result>): Promise<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (this.isOver) await this.pause();
    }
  }
}
