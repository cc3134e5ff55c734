/** The echo over NATS with Nest: `nest.ts responder|door <folder with its packages>`. `NATS_URL` names the server. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface App {
  listen(port?: number, host?: string): Promise<unknown>;
  getUrl(): Promise<string>;
}
type Decorator = (target: object, key?: string, place?: PropertyDescriptor | number) => void;

const [role = '', folder = ''] = process.argv.slice(2);
const load = createRequire(join(folder, 'bench.js'));
load('reflect-metadata');
const { NestFactory } = load('@nestjs/core') as {
  NestFactory: {
    create(module: object, options: object): Promise<App>;
    createMicroservice(module: object, options: object): Promise<App>;
  };
};
const common = load('@nestjs/common') as Record<
  'Body' | 'Controller' | 'HttpCode' | 'Module' | 'Post',
  (argument?: unknown) => Decorator
>;
const microservices = load('@nestjs/microservices') as {
  ClientProxyFactory: { create(options: object): { send(subject: string, message: unknown): unknown } };
  MessagePattern: (subject: string) => Decorator;
  Payload: () => Decorator;
  Transport: { NATS: number };
};

const SUBJECT = 'bench.nest.echo';
const overNats = {
  transport: microservices.Transport.NATS,
  options: { servers: [new URL(process.env['NATS_URL'] ?? '').host], queue: 'bench' },
};

class Responder {
  echo(message: unknown): unknown {
    return message;
  }
}

class Door {
  readonly client = microservices.ClientProxyFactory.create(overNats);
  call(body: unknown): unknown {
    return this.client.send(SUBJECT, body);
  }
}

class Root {
  readonly name = 'root';
}

/** What decorators would say where the compiler knows them. */
function decorate(
  type: { prototype: object },
  method: string,
  decorators: readonly Decorator[],
  argument: Decorator,
): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method);
  for (const decorator of decorators) decorator(type.prototype, method, descriptor);
  argument(type.prototype, method, 0);
  common.Controller()(type);
  common.Module({ controllers: [type] })(Root);
}

if (role === 'responder') {
  decorate(Responder, 'echo', [microservices.MessagePattern(SUBJECT)], microservices.Payload());
  const app = await NestFactory.createMicroservice(Root, { ...overNats, logger: false });
  await app.listen();
  process.stdout.write('answering\n');
} else {
  decorate(Door, 'call', [common.Post('call'), common.HttpCode(200)], common.Body());
  const app = await NestFactory.create(Root, { logger: false });
  await app.listen(0, '127.0.0.1');
  process.stdout.write(`listening on ${await app.getUrl()}\n`);
}
