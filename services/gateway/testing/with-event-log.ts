/** A gateway that is told events, anew for each test of a file. */
import type { Socket } from 'socket.io-client';
import { afterEach, beforeEach } from 'vitest';
import { type EventLog, startEventLog } from './event-log.ts';
import { type Harness, KEYED, startHarness } from './harness.ts';

interface WithEventLog {
  readonly harness: Harness;
  readonly log: EventLog;
}

/** `begin` gets what has started for the test; the sockets that are put into the list are closed after it. */
export function withEventLog(begin: (started: WithEventLog) => void): Socket[] {
  const sockets: Socket[] = [];
  let started: WithEventLog | null = null;
  beforeEach(async () => {
    const harness = await startHarness({ environment: KEYED });
    started = { harness, log: await startEventLog(harness.platform) };
    begin(started);
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.close();
    await started?.log.stop();
    await started?.harness.stop();
  });
  return sockets;
}
