/** Whether a stretch of time was work or waiting. */
import { cpus } from 'node:os';

/** Returns how many processors of the machine were at work on average since it was called, whoever's work it was. */
export function watchProcessors(): () => number {
  const before = sums();
  return () => {
    const { busy, all } = sums();
    const passed = all - before.all;
    return passed > 0 ? (cpus().length * (busy - before.busy)) / passed : 0;
  };
}

function sums(): { readonly busy: number; readonly all: number } {
  const times = cpus().map(({ times: { idle, ...work } }) => ({
    idle,
    busy: Object.values(work).reduce((a, b) => a + b),
  }));
  const busy = times.reduce((sum, one) => sum + one.busy, 0);
  return { busy, all: times.reduce((sum, one) => sum + one.idle, busy) };
}
