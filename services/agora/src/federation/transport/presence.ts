/** Hears who is there, and says that we are. */
import type { Bus, Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { BEACON_EVERY_MS } from '../domain/peer.ts';
import type { Receiver } from './receiver.ts';
import type { Traffic } from './traffic.ts';
import { PRESENCE_SUBJECT, subjectOf } from './wire.ts';

/** A newcomer hears soon who is there; many newcomers of one moment hear it together. */
const WELCOME_MS = 200;

export interface Presence {
  /** Somebody new is there: it shall hear soon who we are. */
  welcome(): void;
  close(): Promise<void>;
}

export interface PresenceParts {
  readonly bus: Bus;
  readonly receiver: Receiver;
  readonly beacon: () => string;
  readonly self: string;
  readonly traffic: Traffic;
  readonly log: Platform['log'];
}

/** Answers, hears who is there, and says that we are. Processes of one deployment share what comes. */
export async function startPresence({ bus, receiver, beacon, self, traffic, log }: PresenceParts): Promise<Presence> {
  const queue = { queue: `agora.${self}` };
  const sides: Subscription[] = [
    await bus.respond(subjectOf(self), (text) => receiver.onRequest(text), queue),
    await bus.subscribe(
      PRESENCE_SUBJECT,
      (text) => {
        receiver.onPresence(text).catch((error: unknown) => log.error({ err: error }, 'a beacon could not be heard'));
      },
      queue,
    ),
  ];
  const say = (): void => {
    if (!bus.connected) return;
    bus.publish(PRESENCE_SUBJECT, beacon());
    traffic.sent();
  };
  let welcoming: NodeJS.Timeout | null = null;
  const stopListening = bus.onConnection((isConnected) => {
    if (isConnected) say();
  });
  const timer = setInterval(say, BEACON_EVERY_MS);
  say();
  return {
    welcome() {
      welcoming ??= setTimeout(() => {
        welcoming = null;
        say();
      }, WELCOME_MS);
    },
    async close() {
      clearInterval(timer);
      if (welcoming !== null) clearTimeout(welcoming);
      stopListening();
      await Promise.all(sides.map((side) => side.drain()));
    },
  };
}
