/** What a service may do with files of a brain, for whoever called it: over the bus, on a real brain. */
import { hash } from 'node:crypto';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Bearer } from '@svc/contract/operations.brain-files.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { afterAll, expect, test } from 'vitest';
import { type BrainNode, openBrainTestBed } from '../../testing/brain-test-bed.ts';

const bed = await openBrainTestBed();
const node: BrainNode = await bed.start();
const brain = createOperationClient({ bus: node.bus, clock: systemClock }, BRAIN, 'universe');

afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const WORK = 'a'.repeat(64);
const operator: Bearer = { subject: {}, operator: true, token: null, session: 'b'.repeat(64), registry: null };
const agent = (agentId: string, roles = ['editor']): Bearer => ({
  ...operator,
  operator: false,
  session: hash('sha256', agentId),
  subject: { agentId, verified: true, workspace: 'default', roles },
});
const here = (on: Bearer) => ({ on, brain: null, branch: null });
const file = (path: string, content: string, ifMatch: string | null = null) => ({ path, content, ifMatch });
const open = { lease: null, fence: null };

test('files are written in one step or not at all, and once under a reference', async () => {
  const write = { ...here(operator), ...open, ref: 'r1', files: [file('u/a.json', '1\n'), file('u/b.json', '2\n')] };
  const first = await brain.writeFiles(write);
  expect(first).toMatchObject({
    ok: true,
    value: { brain: 'svc', branch: 'main', files: [{ path: 'u/a.json', created: true }, { created: true }] },
  });
  expect(await brain.writeFiles({ ...write, files: [file('u/c.json', '3\n')] })).toEqual(first);
  const second = { ...write, ref: 'r2', files: [file('u/d.json', '4\n'), file('u/a.json', 'x', 'none')] };
  expect(await brain.writeFiles(second)).toMatchObject({ ok: false, code: 'E_CONFLICT' });
  expect(await brain.listFiles({ ...here(operator), directory: 'u', after: null, limit: 10 })).toMatchObject({
    value: { paths: ['u/a.json', 'u/b.json'], more: false },
  });
  const paths = ['u/b.json', 'u/c.json', 'u/a.json'];
  expect(await brain.readFiles({ ...here(operator), paths })).toMatchObject({
    value: {
      files: [
        { path: 'u/b.json', content: '2\n', encoding: 'utf8' },
        { path: 'u/a.json', content: '1\n' },
      ],
    },
  });
});

test('what is no text is read in base64', async () => {
  const content = Buffer.from([0, 255]).toString('base64');
  await node.call('svc_storage_write', { path: 'u/raw.bin', content, encoding: 'base64' });
  expect(await brain.readFiles({ ...here(operator), paths: ['u/raw.bin'] })).toMatchObject({
    value: { files: [{ path: 'u/raw.bin', content, encoding: 'base64' }] },
  });
});

test('a write that was given up never comes', async () => {
  expect(await brain.forgoWrite({ ref: 'r1' })).toMatchObject({
    written: [{ path: 'u/a.json' }, { path: 'u/b.json' }],
  });
  expect(await brain.forgoWrite({ ref: 'r3' })).toEqual({ written: null });
  const late = { ...here(operator), ...open, ref: 'r3', files: [file('u/late.json', '1\n')] };
  expect(await brain.writeFiles(late)).toMatchObject({ ok: false, code: 'E_FENCED' });
  expect(await brain.readFiles({ ...here(operator), paths: ['u/late.json'] })).toMatchObject({ value: { files: [] } });
});

test('the bearer may do what it may do itself, and nothing else', async () => {
  const nobody: Bearer = { ...operator, operator: false };
  const files = [file('u/z.json', '1\n')];
  await expect(brain.writeFiles({ ...here(nobody), ...open, ref: 'r4', files })).rejects.toThrow(/credential/);
  const reader = agent('reader', ['viewer']);
  await expect(brain.writeFiles({ ...here(reader), ...open, ref: 'r4', files })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  });
  const hold = { ...here(reader), lease: WORK, holder: 'work', ttlMs: 5000 };
  await expect(brain.holdLease(hold)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(brain.readFiles({ ...here(reader), brain: 'nowhere', paths: ['x'] })).rejects.toMatchObject({
    code: 'BRAIN_LOAD_FAIL',
  });
});

test('the lease is held for one piece of work, against everybody else and also the bearer', async () => {
  const ada = agent('ada');
  const hold = { ...here(ada), lease: WORK, holder: 'restore:1', ttlMs: 20_000 };
  const held = await brain.holdLease(hold);
  expect(held).toMatchObject({ ok: true, value: { lease: WORK, brain: 'svc' } });
  expect(await brain.holdLease(hold)).toEqual(held);
  expect(await brain.holdLease({ ...hold, lease: 'c'.repeat(64) })).toMatchObject({
    code: 'E_LOCKED',
    details: { holder: 'restore:1' },
  });
  const write = { ...here(ada), ...open, ref: 'r5', files: [file('u/held.json', '1\n')] };
  expect(await brain.writeFiles(write)).toMatchObject({ code: 'E_LOCKED' });
  const fence = held.ok ? held.value.fence : 0;
  const own = { ...write, lease: WORK };
  expect(await brain.writeFiles({ ...own, ref: 'r6', fence: fence + 1 })).toMatchObject({ code: 'E_FENCED' });
  expect(await brain.writeFiles({ ...own, ref: 'r7', fence })).toMatchObject({ ok: true });
  expect(await brain.giveBackLease({ ...here(ada), lease: 'c'.repeat(64) })).toEqual({ ended: false });
  expect(await brain.giveBackLease({ ...here(ada), lease: WORK })).toEqual({ ended: true });
  expect(await brain.writeFiles({ ...own, ref: 'r8', fence })).toMatchObject({ code: 'E_FENCED' });
});

test('who holds the lease goes on under it', async () => {
  const ada = agent('ada');
  const { subject, session } = ada;
  const taken = await node.call('svc_lock', { action: 'acquire' }, { subject, session, operator: false });
  const held = await brain.holdLease({ ...here(ada), lease: WORK, holder: 'restore:2', ttlMs: 5000 });
  expect(held).toMatchObject({ ok: true, value: { lease: null, fence: taken['fence'] } });
  const other = await brain.holdLease({ ...here(agent('bob')), lease: WORK, holder: 'restore:3', ttlMs: 5000 });
  expect(other).toMatchObject({ code: 'E_LOCKED', details: { holder: 'ada' } });
  const write = { ...here(ada), ref: 'r9', lease: null, fence: Number(taken['fence']) };
  expect(await brain.writeFiles({ ...write, files: [file('u/own.json', '1\n')] })).toMatchObject({ ok: true });
  expect(await brain.giveBackLease({ ...here(ada), lease: WORK })).toEqual({ ended: false });
});
