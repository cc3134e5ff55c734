/** The whole system in one process, on embedded stores. */
import type { Config } from '@svc/runtime/config.ts';
import { takeDataDirectory } from './data-directory.ts';
import { openStore } from './platform.embedded.ts';
import { runProcess } from './process.ts';
import { ADDRESSES } from './role-context.ts';
import type { CataloguedService } from './services.ts';

export async function runOneProcess(services: readonly CataloguedService[]): Promise<void> {
  await runProcess('node', async ({ context: given, lifecycle }) => {
    const context = { ...given, config: withoutServers(given.config) };
    const directory = takeDataDirectory(context.config);
    lifecycle.onShutdown('data directory', async () => directory.release());
    const store = openStore(context, directory, lifecycle);
    // A database that is there wakes in its thread while the code of the services is loaded.
    // A new one is made when the doors are open, so that a start that fails leaves nothing behind.
    if (!directory.isNew) store.wake();
    const [{ startWholeNode }] = await Promise.all([import('./whole-node.ts'), ...services.map(({ load }) => load())]);
    await startWholeNode(
      { context, lifecycle },
      {
        directory,
        store,
        services,
        leftAside: ADDRESSES.filter((name) => given.config[name] !== undefined),
      },
    );
  });
}

/** Nobody shall believe that the servers of a cluster are in use. */
function withoutServers(config: Config): Config {
  return { ...config, ...Object.fromEntries(ADDRESSES.map((name) => [name, undefined])) };
}
