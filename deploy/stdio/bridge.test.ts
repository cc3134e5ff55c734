/** What a client hears when somebody between it and the node answers, or the node's answer does not come whole. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { doorTo, WITHIN_MS } from '../testing/door-to.ts';
import { createBridge } from './bridge.ts';

const RESULT = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM_TYPE = { 'content-type': 'text/event-stream' };

const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'svc_health' } });

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** The requests to a node that answers them in turn; the last answer is that to all further ones. */
async function startBridge(answers: readonly Answer[]) {
  const seen: string[] = [];
  const door = await doorTo((request, response) => {
    const answer = answers[seen.length] ?? answers.at(-1);
    void text(request).then((body) => {
      seen.push(body);
      answer?.(response, request);
    });
  });
  const heard: unknown[] = [];
  const bridge = createBridge({ door, write: (line) => heard.push(JSON.parse(line)), warn: () => {} });
  return { bridge, heard, seen };
}

/** All that a client hears of one request. */
async function heardOf(answers: readonly Answer[]): Promise<readonly unknown[]> {
  const { bridge, heard } = await startBridge(answers);
  bridge.take(CALL);
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThan(0);
  // A second answer would come of a second attempt.
  await sleep(2 * WITHIN_MS);
  await bridge.end();
  return heard;
}

test.each<[string, Answer, string]>([
  ['a status alone', (response) => void response.writeHead(401).end(), '401'],
  ['nothing at all', (response) => void response.writeHead(202).end(), '202'],
  ['the way to somewhere else', (response) => void response.writeHead(302, { location: '/stay' }).end(), '302'],
  ['half a message', (response) => void response.writeHead(200, JSON_TYPE).end(RESULT.slice(0, 12)), '200'],
  ['no object', (response) => void response.writeHead(400, JSON_TYPE).end('"no"'), '400'],
  ['a stream without an answer', (response) => void response.writeHead(200, STREAM_TYPE).end(':\n\n'), '200'],
])('is told that there is no answer where %s comes', async (_what, answer, status) => {
  expect(await heardOf([answer])).toEqual([
    expect.objectContaining({
      id: 1,
      error: expect.objectContaining({ message: expect.stringContaining(`answered ${status} and no message`) }),
    }),
  ]);
});

test.each<[string, Answer]>([
  ['each time on the way back', (_response, request) => void request.socket.destroy()],
  ['in part', (response) => void response.writeHead(200, JSON_TYPE).end(RESULT.slice(0, 12))],
])('is told that a call may have taken effect whose answer is lost %s, and its key', async (_how, answer) => {
  const keys: unknown[] = [];
  const noting: Answer = (response, request) => {
    keys.push(request.headers['idempotency-key']);
    answer(response, request);
  };
  const heard = await heardOf([noting]);
  expect(heard).toMatchObject([{ id: 1, error: { data: { code: 'E_OUTCOME_UNKNOWN', idempotencyKey: keys[0] } } }]);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toEqual(expect.any(String));
});

test('is told that nobody is there for a call that never arrived', async () => {
  const refused: Answer = (response) => void response.writeHead(401).end();
  expect(await heardOf([refused])).toMatchObject([{ error: { data: { code: 'SERVICE_UNAVAILABLE' } } }]);
});

test('is not told of a proxy that has no node behind it for a moment', async () => {
  const away: Answer = (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('Bad Gateway');
  const there: Answer = (response) => void response.writeHead(200, JSON_TYPE).end(RESULT);
  expect(await heardOf([away, there])).toEqual([JSON.parse(RESULT)]);
  expect(await heardOf([away])).toEqual([
    expect.objectContaining({
      error: expect.objectContaining({ message: expect.stringContaining('what is there answered 502') }),
    }),
  ]);
});

test('hears an answer once whose connection breaks after it', async () => {
  const broken: Answer = (response, request) => {
    response.writeHead(200, STREAM_TYPE).write(`data: ${RESULT}\n\n`);
    setTimeout(() => request.socket.destroy(), 50);
  };
  expect(await heardOf([broken])).toEqual([JSON.parse(RESULT)]);
});

test('gets nothing done any more that it cancelled while no node was there, and the node is told of it', async () => {
  let isThere = false;
  const { bridge, heard, seen } = await startBridge([
    (response, request) => {
      if (!isThere) request.socket.destroy();
      else response.writeHead(202).end();
    },
  ]);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  bridge.take(CALL);
  await expect.poll(() => seen.length).toBeGreaterThan(0);
  bridge.take(JSON.stringify(cancel));
  // One that was on its way already is lost.
  await sleep(WITHIN_MS / 3);
  const before = seen.length;
  isThere = true;
  await expect.poll(() => seen.slice(before)).toContain(JSON.stringify(cancel));
  await sleep(WITHIN_MS);
  await bridge.end();
  expect(seen.slice(before).filter((body) => body === CALL)).toEqual([]);
  expect(heard).toEqual([]);
});
