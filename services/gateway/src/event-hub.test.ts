import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EventLog, startEventLog } from '../testing/event-log.ts';
import { type Harness, startHarness } from '../testing/harness.ts';
import { connectedClient } from '../testing/listener.ts';

let harness: Harness;
let log: EventLog;

beforeEach(async () => {
  harness = await startHarness();
  log = await startEventLog(harness.platform);
});
afterEach(async () => {
  await log.stop();
  await harness.stop();
});

test('events that a service counts anew after its database was set back are told, also by positions that were told before', async () => {
  const { socket, heard, ask } = await connectedClient({ url: harness.url });
  try {
    expect(await ask('subscribe')).toMatchObject({ ok: true });
    log.emit(4);
    await expect.poll(() => heard).toEqual([1, 2, 3, 4]);
    log.setBack(1);
    log.emit(1);
    log.emit(1);
    await expect.poll(() => heard.slice(4)).toEqual([2, 3]);
    log.emit(2);
    await expect.poll(() => heard.slice(4)).toEqual([2, 3, 4, 5]);
  } finally {
    socket.close();
  }
});
