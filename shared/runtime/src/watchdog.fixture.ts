/**
 * A process that is watched: `node watchdog.fixture.ts <limitMs> <blockMs> <times> [own]` stands still so often, then goes on.
 * `own`: each time until it has had a processor for so long.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatchdog } from './watchdog.ts';

const [limitMs = 0, blockMs = 0, times = 0] = process.argv.slice(2, 5).map(Number);
const ownMs = (): number => process.cpuUsage().user / 1000;
const elapsedMs = process.argv[5] === 'own' ? ownMs : () => performance.now();
const watchdog = startWatchdog(limitMs);
process.send?.('watched');
await sleep(1000);
for (let time = 0; time < times; time += 1) {
  const until = elapsedMs() + blockMs;
  while (elapsedMs() < until);
  await sleep(300);
}
process.send?.('goes on');
await sleep(100);
await watchdog.close();
process.exit(0);
