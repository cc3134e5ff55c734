/**
 * What clients were told, against what is there. A write whose reply never came may or may not have happened: both are
 * right. An acknowledged one must be there. Each file has one writer at a time.
 */
export class Ledger {
  /** Contents that a file may have now; null = it may be absent. */
  readonly #possible = new Map<string, Set<string | null>>();
  acknowledgedWrites = 0;

  /** Before the call: from now on the file may hold this content. */
  sent(file: string, content: string): void {
    this.#possible.set(file, (this.#possible.get(file) ?? new Set([null])).add(content));
  }

  /** The reply said no: the write did not happen. */
  refused(file: string, content: string): void {
    this.#possible.get(file)?.delete(content);
  }

  acknowledged(file: string, content: string): void {
    this.acknowledgedWrites += 1;
    this.#possible.set(file, new Set([content]));
  }

  has(file: string): boolean {
    return this.#possible.get(file)?.has(null) === false;
  }

  /** `read` gives a file's content, null when it is absent. Empty = nothing acknowledged is missing; what is there now counts from here on. */
  async lost(read: (file: string) => Promise<string | null>): Promise<string[]> {
    const lost: string[] = [];
    for (const [file, contents] of this.#possible) {
      const found = await read(file);
      if (!contents.has(found)) lost.push(`${file}: found ${found}, wanted ${[...contents].join(' or ')}`);
      this.#possible.set(file, new Set([found]));
    }
    return lost;
  }
}
