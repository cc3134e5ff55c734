/** What the doors let one caller hold: nobody without a credential costs memory, nobody takes the doors from others. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { Caller, sendTo } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { promised } from '../settings.ts';
import type { ServiceProcess } from '../targets/service-process.ts';
import type { TargetPlace } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

const MEBIBYTE = 1024 * 1024;
const HELD_BODIES = 150;
const FREE_PLAN = 60;

function residentMib({ pid }: ServiceProcess): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}

function knock(url: string, text: string | Buffer): Socket {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(text);
  return socket;
}

function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString().split('\r\n')[0] ?? ''));
    socket.once('close', () => resolve(''));
  });
}

verifies('gateway:limits:proxy', async ({ gateways }) => {
  const limited = { ...KEYED, SVC_RATE_LIMIT: 'on' };
  const [behind, alone] = [await gateways(1, { ...limited, SVC_TRUST_PROXY: '1' }), await gateways(1, limited)];
  const look = async (url: string, client: string) =>
    (await sendTo(`${url}/tools`, { method: 'GET', headers: { 'x-forwarded-for': client } })).status;
  const all = async (url: string, client: string) =>
    Promise.all(Array.from({ length: FREE_PLAN + 1 }, () => look(url, client)));
  const passed = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length;
  const url = behind.gateways[0] ?? '';
  expect(passed(await all(url, '6.6.6.6, 192.0.2.1'))).toBe(FREE_PLAN);
  expect(await look(url, '6.6.6.7, 192.0.2.1')).toBe(429);
  expect(passed(await all(url, '192.0.2.2'))).toBe(FREE_PLAN);
  const believing = alone.gateways[0] ?? '';
  const statuses: number[] = [];
  for (let client = 0; client <= FREE_PLAN; client += 1) statuses.push(await look(believing, `192.0.2.${client + 1}`));
  expect(statuses.filter((status) => status === 429)).not.toEqual([]);
});

verifies(['gateway:limits:bodies', 'gateway:log:calls'], async ({ gateways, report }) => {
  const place = await gateways(1, { ...KEYED, SVC_LOG_CALLS: 'on' });
  const [url = ''] = place.gateways;
  const [node] = place.processes;
  if (node === undefined) throw new Error('no gateway');
  await callsAreLogged(place, node);
  const before = residentMib(node);
  const head = `POST /call HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\nContent-Length: ${3 * MEBIBYTE}\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(2 * MEBIBYTE, 'x')]);
  const held = Array.from({ length: HELD_BODIES }, () => knock(url, body));
  const answers = await Promise.all(held.map(firstLine));
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 401 Unauthorized']));
  const grown = residentMib(node) - before;
  expect(grown).toBeLessThan(120);
  await new Caller(place).ok('brain_list');
  report(`${HELD_BODIES} held bodies of strangers: +${Math.round(grown)} MiB`);
});

verifies('gateway:limits:connections', async ({ gateways, report }) => {
  const place = await gateways(1, { ...KEYED, SVC_MAX_CONNECTIONS_PER_ADDRESS: '100' });
  const [url = ''] = place.gateways;
  const many = Array.from({ length: 150 }, () => knock(url, ''));
  await waitFor(() => many.filter(({ readableLength, destroyed }) => readableLength > 0 || destroyed).length >= 50, {
    what: 'the connections beyond the bound to be refused',
  });
  for (const socket of many) socket.destroy();
  await waitFor(async () => (await new Caller(place).call('brain_list')).status === 200, {
    what: 'room for others',
    ignoreErrors: () => true,
  });

  const opened = await Promise.all(
    Array.from({ length: 100 }, () => sendTo(`${url}/socket.io/?EIO=4&transport=polling`, { method: 'GET' })),
  );
  const sids = opened.flatMap(({ text }) => /"sid":"([^"]+)"/.exec(text)?.[1] ?? []);
  expect(sids.length).toBeGreaterThan(0);
  expect(sids.length).toBeLessThanOrEqual(64);
  await delay(promised(1000) + 1000);
  const left = await Promise.all(
    sids.map((sid) => sendTo(`${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`, { method: 'GET' })),
  );
  expect(new Set(left.map(({ status }) => status))).toEqual(new Set([400]));
  report(`${sids.length} of 100 sessions without a handshake were opened, none was there after 6 s`);
});

verifies('gateway:limits:socket', async ({ socket }) => {
  const one = await socket();
  const names = (from: number) => Array.from({ length: 100 }, (_, index) => `area-${from + index}:done`);
  const sizes: number[] = [];
  const codes: unknown[] = [];
  for (let each = 0; each < 5; each += 1) {
    const answer = await one.subscribe({ events: names(each * 100) });
    sizes.push(JSON.stringify(answer).length);
    codes.push(answer.code);
  }
  expect(Math.max(...sizes)).toBeLessThan(10_000);
  expect(codes).toEqual([undefined, ...Array<string>(4).fill('VAF_INPUT_INVALID')]);
});

async function callsAreLogged(place: TargetPlace, { logFile }: ServiceProcess): Promise<void> {
  const user = new Caller(place);
  const [served, denied] = [newName('served'), newName('denied')];
  await user.ok('brain_list', {}, { headers: { 'x-request-id': served } });
  await new Caller(place, { key: null }).call('brain_list', {}, { headers: { 'x-request-id': denied } });
  const lineOf = (id: string, message: string): string | undefined =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .find((line) => line.includes(id) && line.includes(`"msg":"${message}"`));
  const written = async (id: string, message: string): Promise<unknown> => {
    await waitFor(() => lineOf(id, message) !== undefined, { what: `the line "${message}" of ${id}` });
    return JSON.parse(lineOf(id, message) ?? '');
  };
  expect(await written(served, 'call')).toMatchObject({ tool: 'brain_list', code: 'ok', door: 'call' });
  expect(await written(denied, 'denied')).toMatchObject({ code: 'UNAUTHORIZED', requestId: denied });
}
