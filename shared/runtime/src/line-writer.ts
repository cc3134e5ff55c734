/** Lines to a descriptor that may not take them: a log is worth less than the process that writes it. */
import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const WAITS = 10;
const WAIT_MS = 5;
const WARN = 40;

/** For a moment it may be full, as a pipe is whose reader is slow. */
function isFull(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EAGAIN';
}

/**
 * Never throws. What is not taken, by a full disk or a reader that stands still, is lost and counted; the next line that is
 * taken is preceded by how many.
 */
export function createLineWriter(fd: number, now: () => number): DestinationStream {
  const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let lost = 0;
  let isTorn = false;

  /** Whether all of it was taken. */
  function put(text: string): boolean {
    const bytes = Buffer.from(text);
    let written = 0;
    for (let waits = 0; written < bytes.length; ) {
      try {
        written += writeSync(fd, bytes, written);
        isTorn = written < bytes.length;
      } catch (error) {
        if (!isFull(error) || waits === WAITS || lost > 0) return false;
        waits += 1;
        Atomics.wait(sleeper, 0, 0, WAIT_MS);
      }
    }
    return true;
  }

  function tellLost(): boolean {
    const line = { level: WARN, time: now(), lost, msg: 'lines of the log were lost' };
    return put(`${isTorn ? '\n' : ''}${JSON.stringify(line)}\n`);
  }

  return {
    write(line) {
      if (lost > 0 && !tellLost()) {
        lost += 1;
        return;
      }
      lost = put(line) ? 0 : 1;
    },
  };
}
