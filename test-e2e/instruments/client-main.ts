/** Program of a client process: `client-main.ts <role> <order as JSON>`; it tells its parent what happened. */
import { once } from 'node:events';
import { Caller, codeOf } from '../client.ts';
import type { ClientOrder, ClientRole } from './client-process.ts';
import { readShared, writeShared } from './shared-work.ts';

const CONCURRENT = 50;

const [role, text = '{}'] = process.argv.slice(2);
const order = JSON.parse(text) as ClientOrder;
const caller = new Caller(order.place, { session: order.session, headers: order.headers ?? {} });
const tell = (kind: string, fields: Record<string, unknown> = {}): void => void process.send?.({ kind, ...fields });

/** Takes the lease; told to go on, it writes with the fence it had, whatever happened to its process in between. */
async function holdLease(): Promise<void> {
  const { fence } = await caller.ok<{ fence: number }>('svc_lock', {
    action: 'acquire',
    agentId: 'holder',
    ttlMs: order.ttlMs,
    brain: order.brain,
  });
  tell('holding', { fence });
  await once(process, 'message');
  const replies = await Promise.all(
    Array.from({ length: order.writes }, (_, index) =>
      caller.call(
        'brain_write',
        { brain: order.brain, name: 'x', content: `stale ${index}`, fence },
        { gateway: index },
      ),
    ),
  );
  const codes = replies.map((reply) => codeOf(reply) ?? 'accepted');
  tell('done', { refused: codes.filter((code) => code !== 'accepted').length, codes: [...new Set(codes)] });
}

async function write(): Promise<void> {
  let next = 0;
  const failures: string[] = [];
  const lane = async (): Promise<void> => {
    for (let index = next++; index < order.writes; index = next++) {
      const name = `${order.label}/${index}`;
      const reply = await caller.call(
        'brain_write',
        { brain: order.brain, name, content: `${name} of ${order.label}` },
        { gateway: index },
      );
      if (codeOf(reply) !== null) failures.push(`${name}: ${reply.text.slice(0, 200)}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, lane));
  tell('done', { failures });
}

/** Writes its part of what several share; told to go on, when all have, it says what it finds of all parts. */
async function takePart(): Promise<void> {
  const goesOn = once(process, 'message');
  tell('written', { ...(await writeShared(caller, order)) });
  await goesOn;
  tell('done', { ...(await readShared(caller, order)) });
}

const roles: Record<ClientRole, () => Promise<void>> = { 'lease-holder': holdLease, writer: write, member: takePart };
await roles[role as ClientRole]();
process.disconnect();
