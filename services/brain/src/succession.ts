/** Tells the registry of identities whom the brain took over from. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '@svc/runtime/platform.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { Inheritance, LegacyLayout } from './legacy-layout.ts';

const TELL_AGAIN_MS = 2000;

type Registry = Pick<RegistryClient<'brain'>, 'succession'>;

/** Until the registry has heard of it: at every start, because nothing here remembers that it has. Returns how to stop. */
export function tellOfImport(
  layout: LegacyLayout,
  registry: Registry,
  log: Platform['log'],
): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const inherited = layout.inheritance();
  const telling = inherited === null ? Promise.resolve() : tell(inherited, registry, log, stopped.signal);
  return {
    async stop() {
      stopped.abort();
      await telling;
    },
  };
}

async function tell(
  inherited: Inheritance,
  registry: Registry,
  log: Platform['log'],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await registry.succession(inherited);
      return;
    } catch (error) {
      log.debug({ err: error }, 'the registry has not heard of the import yet');
    }
    await sleep(TELL_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}
