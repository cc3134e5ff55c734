/** A process that is watched: `node watchdog.fixture.ts <limitMs> <blockMs> <times>` stands still so often, then goes on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatchdog } from './watchdog.ts';

const [limitMs = 0, blockMs = 0, times = 0] = process.argv.slice(2).map(Number);
const watchdog = startWatchdog(limitMs);
process.send?.('watched');
await sleep(1000);
for (let time = 0; time < times; time += 1) {
  const until = performance.now() + blockMs;
  while (performance.now() < until);
  await sleep(300);
}
process.send?.('goes on');
await sleep(100);
await watchdog.close();
process.exit(0);
