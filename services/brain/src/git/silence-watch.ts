/** How long a transfer has given no sign of life. */
import { readBytesOfGroup } from './process-reads.ts';

/** Looks in this many parts of the time, so that what was read between two looks counts as soon as it can. */
const LOOKS = 2;

export class SilenceWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #group: number;
  #quietLooks = 0;
  /** At the last look since something was said. */
  #read: number | null = null;

  /** `isAtWork`: git has something to do that waits for nobody. `onSilence` is called once. */
  constructor(
    { group, silenceMs, isAtWork }: { group: number; silenceMs: number; isAtWork: () => boolean },
    onSilence: () => void,
  ) {
    this.#group = group;
    this.#timer = setInterval(() => {
      this.#look(isAtWork());
      if (this.#quietLooks < LOOKS) return;
      clearInterval(this.#timer);
      onSilence();
    }, silenceMs / LOOKS);
  }

  /** Something was said. */
  hear(): void {
    this.#quietLooks = 0;
    this.#read = null;
    this.#timer.refresh();
  }

  #look(isAtWork: boolean): void {
    const before = this.#read;
    this.#read = readBytesOfGroup(this.#group);
    const isAlive = isAtWork || (before !== null && this.#read !== before);
    this.#quietLooks = isAlive ? 0 : this.#quietLooks + 1;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
