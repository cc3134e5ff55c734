/** The bus on which deployments meet, over a NATS of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MeetingBus, MeetingParts } from './bus.between.ts';
import { connectNatsBus } from './bus.nats.ts';
import { NatsRefused } from './bus.nats.listening.ts';
import type { Bus } from './bus.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';

const AGAIN_AFTER_MS = 2000;

/**
 * A server that is away does not stop the start: whoever is alone goes on alone, and meets the others when it comes. Throws
 * NatsRefused when it does not take us for who we are.
 */
export async function meetOverNats(url: string, { clock, config, log, node }: MeetingParts): Promise<MeetingBus> {
  const { SVC_NODE_NAME: name = node.nodeId, SVC_START_WAIT_MS: waitMs } = config;
  let reached: Bus | null = null;
  let isClosed = false;
  const options = { urls: [url], name: node.instance, inboxPrefix: `_INBOX_${name}`, clock, log };
  const connect = (trouble?: RepeatedTrouble): Promise<Bus> =>
    connectNatsBus({ ...options, giveUpAt: clock.now() + waitMs, ...(trouble === undefined ? {} : { trouble }) });
  const connecting = connect().then((found) => (reached = found));
  const first = await connecting.catch((error: unknown) => {
    if (error instanceof NatsRefused) throw new NatsRefused(refusalOf(error));
    log.warn({ err: error }, 'the NATS on which deployments meet cannot be reached yet');
    return null;
  });
  const later = async (): Promise<Bus | null> => {
    const trouble = new RepeatedTrouble();
    while (!isClosed) {
      try {
        return await connect(trouble);
      } catch (error) {
        if (error instanceof NatsRefused && trouble.isDue(error.message)) log.warn(refusalOf(error));
      }
      await sleep(AGAIN_AFTER_MS, undefined, { ref: false });
    }
    return null;
  };
  return {
    current: () => reached,
    async onReached(listener) {
      if (first !== null) return listener(first);
      void later().then(async (found) => {
        if (found === null || isClosed) return found?.close();
        reached = found;
        return listener(found).catch((error: unknown) => log.error({ err: error }, 'other deployments cannot be met'));
      });
    },
    async close() {
      isClosed = true;
      await reached?.close();
    },
  };
}

function refusalOf({ message }: NatsRefused): string {
  return message.replaceAll('NATS_URL', 'SVC_NODE_BUS_URL');
}
