/** Hears who is there, and says that we are. */
import type { Bus, Subscription } from '@svc/runtime/bus.ts';
import { createFailureReport } from '@svc/runtime/failures.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { claimedSender } from '../domain/envelope.ts';
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
  readonly receiver: Pick<Receiver, 'onRequest' | 'onPresence'>;
  /** Never throws. */
  readonly beacon: () => Promise<string>;
  readonly self: string;
  readonly traffic: Traffic;
  readonly log: Platform['log'];
}

/**
 * Answers, hears who is there, and says that we are. Processes of one deployment share the questions, and what is said in its
 * own name; who else is there each of them hears, because one that stands still would take its share with it.
 */
export async function startPresence({ bus, receiver, beacon, self, traffic, log }: PresenceParts): Promise<Presence> {
  const report = createFailureReport(log, 'a beacon could not be heard');
  const queue = { queue: `agora.${self}` };
  const hear = (isOfOwnName: boolean) => (text: string) => {
    if ((claimedSender(text) === self) !== isOfOwnName) return;
    receiver.onPresence(text).catch((error: unknown) => report(error, {}));
  };
  const sides: Subscription[] = [
    await bus.respond(subjectOf(self), (text) => receiver.onRequest(text), queue),
    await bus.subscribe(PRESENCE_SUBJECT, hear(true), queue),
    await bus.subscribe(PRESENCE_SUBJECT, hear(false)),
  ];
  let isOver = false;
  const tell = async (): Promise<void> => {
    const text = await beacon();
    if (!bus.connected || isOver) return;
    bus.publish(PRESENCE_SUBJECT, text);
    traffic.sent();
  };
  const say = (): void => void tell();
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
      isOver = true;
      clearInterval(timer);
      if (welcoming !== null) clearTimeout(welcoming);
      stopListening();
      await Promise.all(sides.map((side) => side.drain()));
    },
  };
}
