/** Who is at work in a brain, so that it can be closed when nobody is. */

export class ReferenceCount {
  #present = 0;
  #onLeft: (() => void) | null = null;

  /** Call what it answers when the work is done. */
  enter(): () => void {
    this.#present += 1;
    return () => {
      this.#present -= 1;
      this.#onLeft?.();
    };
  }

  /** False when others were still at work after `waitMs`. Whoever asks is one of those present. */
  async alone(waitMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), waitMs);
    this.#onLeft = () => {
      if (this.#present <= 1) resolve(true);
    };
    this.#onLeft();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#onLeft = null;
    }
  }
}
