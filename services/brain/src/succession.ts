/** What other services may know of the layout of this data directory, and whom its brain took over from. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryClient } from '@svc/runtime/registry.ts';
import type { Inheritance, LegacyLayout } from './legacy-layout.ts';

const LAYOUT = 'brain.layout';
const TELL_AGAIN_MS = 2000;

export interface Succession {
  stop(): Promise<void>;
}

type SuccessionPlatform = Pick<Platform, 'bus' | 'clock' | 'log'>;

/** Answers for the layout's version, and tells the registry of an import until it has heard of it: at every start, because
 * nothing here remembers that it has. */
export async function startSuccession(layout: LegacyLayout, platform: SuccessionPlatform): Promise<Succession> {
  const answering = await platform.bus.respond(
    LAYOUT,
    async () => JSON.stringify({ version: layout.status().markerVersion }),
    { queue: 'brain' },
  );
  const stopped = new AbortController();
  const inherited = layout.inheritance();
  const telling = inherited === null ? Promise.resolve() : tell(inherited, platform, stopped.signal);
  return {
    async stop() {
      stopped.abort();
      await telling;
      await answering.drain();
    },
  };
}

async function tell(inherited: Inheritance, platform: SuccessionPlatform, signal: AbortSignal): Promise<void> {
  const registry = createRegistryClient(platform);
  while (!signal.aborted) {
    try {
      await registry.ask('succession', inherited);
      return;
    } catch (error) {
      platform.log.debug({ err: error }, 'the registry has not heard of the import yet');
    }
    await sleep(TELL_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}
