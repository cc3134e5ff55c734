/** A process that answers on NATS, to be stopped by a test: `node bus.echo.fixture.ts <url> <name>`. */
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { connectNatsBus } from './bus.nats.ts';
import { systemClock } from './clock.ts';
import { stoodStillWith } from './timely.ts';

const [url = '', name = ''] = process.argv.slice(2);
const member = { group: 'still', process: name };
const bus = await connectNatsBus({ urls: [url], name, log: pino({ level: 'silent' }), member });
const answer = async (id: string): Promise<string> => {
  bus.publish('still.done', id);
  return name;
};
await bus.respond('still.echo', answer, { queue: 'still' });

/** Holds up the event loop for so many ms, lets others have their turn, and says whether it could be late by now. */
const holdUp = async (ms: string): Promise<string> => {
  const since = systemClock.now();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
  await setTimeout(2);
  return stoodStillWith({ bus, clock: systemClock }, { since, repeatable: true }) ? 'late' : 'in time';
};
await bus.respond('still.hold-up', holdUp, { queue: 'still' });
process.send?.('ready');
