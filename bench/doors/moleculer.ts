/** The echo over NATS with Moleculer: `moleculer.ts responder|door <folder with its packages>`. `NATS_URL` names the server. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { serveBare } from './door.ts';

interface Broker {
  createService(schema: object): void;
  start(): Promise<void>;
  waitForServices(name: string): Promise<void>;
  call(action: string, params: unknown): Promise<unknown>;
}

const [role = '', folder = ''] = process.argv.slice(2);
const { ServiceBroker } = createRequire(join(folder, 'bench.js'))('moleculer') as {
  ServiceBroker: new (options: object) => Broker;
};
const broker = new ServiceBroker({ nodeID: role, transporter: process.env['NATS_URL'], logger: false });
if (role === 'responder') {
  broker.createService({ name: 'bench', actions: { echo: (context: { params: unknown }) => context.params } });
}
await broker.start();
if (role === 'responder') process.stdout.write('answering\n');
else {
  await broker.waitForServices('bench');
  serveBare(async (body) => JSON.stringify(await broker.call('bench.echo', JSON.parse(body))));
}
