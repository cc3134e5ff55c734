/** A process that answers on NATS, to be stopped by a test: `node bus.echo.fixture.ts <url> <name>`. */
import { pino } from 'pino';
import { connectNatsBus } from './bus.nats.ts';

const [url = '', name = ''] = process.argv.slice(2);
const member = { group: 'still', process: name };
const bus = await connectNatsBus({ urls: [url], name, log: pino({ level: 'silent' }), member });
const answer = async (id: string): Promise<string> => {
  bus.publish('still.done', id);
  return name;
};
await bus.respond('still.echo', answer, { queue: 'still' });
process.send?.('ready');
