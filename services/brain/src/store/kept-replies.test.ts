import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { createIdempotency } from '@svc/runtime/idempotency.ts';
import { createKeptReplies } from '@svc/runtime/kept-replies.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestBed, type StoreTestBed } from '../../testing/store-test-bed.ts';

let bed: StoreTestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

const idempotency = createIdempotency('brain');
const replies = () => createKeptReplies('brain', bed.client);
const settle = (scope: IdempotencyScope, decision: Decision<object, string>) =>
  bed.transact((transaction) => idempotency.once(transaction, scope, async () => decision));
let serial = 0;
const scope = (): IdempotencyScope => ({
  principal: 'p',
  tool: 'brain_save',
  key: `kept-${(serial += 1)}`,
  argsHash: 'h',
});
const SAVED = { body: '{"content":{"z":1,"a":"é"}}', refusal: null };
const LOCKED = { body: '{"content":{"code":"E_LOCKED"}}', refusal: 'E_LOCKED' };

it('tells a reply again word for word, in this process at once and in any other once it is kept', async () => {
  for (const [decision, reply] of [
    [allow({}), SAVED],
    [deny('E_LOCKED'), LOCKED],
  ] as const) {
    const [key, here, there] = [scope(), replies(), replies()];
    await settle(key, decision);
    expect(await here.find(key)).toBeNull();
    here.keep(key, reply);
    expect(await here.find(key)).toEqual(reply);
    await here.close();
    expect(await there.find(key)).toEqual(reply);
    expect(await there.find({ ...key, argsHash: 'other' })).toBeNull();
  }
});

it('tells again also of an outcome with a text that PostgreSQL cannot read, and of what is kept beside it', async () => {
  const texts = ['a\0b', '\ud800', '\\u0000 \\\0 \\ud800', '\ud83d\ude00'];
  const some = replies();
  const told = [
    ...texts.map((text) => allow({ [text]: text })),
    ...texts.map((text) => deny('E_LOCKED', { text })),
  ].map((decision) => ({ decision, key: scope(), reply: decision.ok ? SAVED : LOCKED }));
  for (const { key, decision } of told) await settle(key, decision);
  for (const { key, reply } of told) some.keep(key, reply);
  for (const { key, reply } of told) expect(await some.find(key)).toEqual(reply);
  await some.close();
  for (const { key, decision, reply } of told) {
    expect(await replies().find(key)).toEqual(reply);
    expect(await idempotency.find(bed.client, key)).toEqual(decision);
  }
});

it('keeps nothing that is not the outcome: what one process refused before may have been done by another', async () => {
  const [done, refused, nothing] = [scope(), scope(), scope()];
  const [early, late] = [replies(), replies()];
  for (const key of [done, refused, nothing]) early.keep(key, LOCKED);
  await settle(done, allow({}));
  await settle(refused, deny('E_CONFLICT'));
  for (const key of [done, refused, nothing]) expect(await early.find(key)).toBeNull();
  late.keep(done, SAVED);
  await late.close();
  await early.close();
  expect(await early.find(done)).toEqual(SAVED);
  for (const key of [refused, nothing]) expect(await early.find(key)).toBeNull();
});

it('makes long replies again', async () => {
  const [key, some] = [scope(), replies()];
  await settle(key, allow({}));
  some.keep(key, { ...SAVED, body: JSON.stringify('x'.repeat(20_000)) });
  await some.close();
  expect(await some.find(key)).toBeNull();
});
