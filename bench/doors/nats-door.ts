/** node:http in front of a NATS responder: one reply subscription for all requests. `NATS_URL` names the server. */
import { connect, createInbox } from '@nats-io/transport-node';
import { ECHO_SUBJECT } from './nats-responder.ts';
import { serveBare } from './door.ts';

const connection = await connect({ servers: new URL(process.env['NATS_URL'] ?? '').host, noAsyncTraces: true });
const inbox = `${createInbox()}.`;
const pending = new Map<string, (reply: string) => void>();
let lastId = 0;

connection.subscribe(`${inbox}*`, {
  callback: (_error, { subject, data }) => {
    const id = subject.slice(inbox.length);
    pending.get(id)?.(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
    pending.delete(id);
  },
});

serveBare((body) => {
  const text = JSON.stringify(JSON.parse(body));
  return new Promise((resolve) => {
    lastId += 1;
    pending.set(String(lastId), (reply) => resolve(JSON.stringify(JSON.parse(reply))));
    connection.publish(ECHO_SUBJECT, text, { reply: inbox + lastId });
  });
});
