import { describeOperations } from '@svc/testing/operations.contract.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { afterAll } from 'vitest';
import { connectNatsBus } from './bus.nats.ts';
import { createLog } from './log.ts';

const server = await startNats();
afterAll(() => server?.stop());

const connectTo = (urls: string[]) => connectNatsBus({ urls, name: 'test', log: createLog('silent', {}) });

describeOperations(
  'NATS',
  server === null
    ? null
    : async () => ({ requester: await connectTo([server.url]), responder: await connectTo([server.url]) }),
);
