/** A progress bar at a terminal, a line for each tenth elsewhere. */
import { SingleBar } from 'cli-progress';

export interface Progress {
  update(value: number): void;
  /** A remark above the bar. */
  say(line: string): void;
  stop(): void;
}

export function startProgress(total: number, what: string): Progress {
  return process.stdout.isTTY ? bar(total, what) : lines(total, what);
}

function bar(total: number, what: string): Progress {
  const shown = new SingleBar({
    format: `{bar} {value}/{total} ${what}, {duration_formatted}`,
    stream: process.stdout,
  });
  shown.start(total, 0);
  return {
    update: (value) => shown.update(value),
    say(line) {
      process.stdout.write(`\r\u001B[K${line}\n`);
    },
    stop: () => shown.stop(),
  };
}

function lines(total: number, what: string): Progress {
  let tenths = 0;
  return {
    update(value) {
      const now = Math.floor((10 * value) / total);
      if (now > tenths) process.stdout.write(`${value}/${total} ${what}\n`);
      tenths = Math.max(tenths, now);
    },
    say: (line) => process.stdout.write(`${line}\n`),
    stop() {},
  };
}
