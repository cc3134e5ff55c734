/** The bus on which deployments meet: that of the services, unless a setting names another. */
import type { Bus } from './bus.ts';
import type { Platform } from './platform.ts';

export interface MeetingBus {
  /** Null while the server has not been reached yet. */
  current(): Bus | null;
  /** Called once, as soon as it is there. */
  onReached(listener: (bus: Bus) => Promise<void>): Promise<void>;
  /** Closes what was opened for it. */
  close(): Promise<void>;
}

export type MeetingParts = Pick<Platform, 'bus' | 'clock' | 'config' | 'log' | 'node'>;

/** Throws NatsRefused when the named server does not take us for who we are. */
export async function openMeetingBus(parts: MeetingParts): Promise<MeetingBus> {
  const { bus, config } = parts;
  const { SVC_NODE_BUS_URL: url } = config;
  if (url === undefined) return { current: () => bus, onReached: (listener) => listener(bus), close: async () => {} };
  // Who meets nobody does not load the client of NATS.
  const { meetOverNats } = await import('./bus.between.nats.ts');
  return meetOverNats(url, parts);
}
