/** Test servers in containers, where a Docker engine answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import { freePort } from './ports.ts';
import type { ServerControl, TestServer } from './processes.ts';

interface ContainerServer {
  readonly image: string;
  readonly port: number;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: readonly { readonly content: string; readonly target: string }[];
  urlAt(port: number): string;
  /** Throws while the server does not answer. */
  probe(url: string): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 20_000;

let engine: Promise<boolean> | undefined;

/** True when a container engine answers; asked once per process. */
function hasEngine(): Promise<boolean> {
  engine ??= getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  return engine;
}

/** Null without an engine; throws when the engine cannot start this image. */
export async function startContainer(server: ContainerServer): Promise<TestServer | null> {
  if (!(await hasEngine())) return null;
  const port = await freePort();
  // A fixed port of the host: an engine would hand out another one at each restart.
  const container = new GenericContainer(server.image)
    .withExposedPorts({ container: server.port, host: port })
    .withEnvironment({ ...server.environment })
    .withCopyContentToContainer([...(server.files ?? [])]);
  if (server.command !== undefined) container.withCommand([...server.command]);
  const started = await container.start().catch((error: unknown) => {
    // An engine that cannot get the image will not get it a moment later either.
    engine = Promise.resolve(false);
    throw error;
  });
  const url = server.urlAt(port);
  const answers = async () => {
    const giveUpAt = Date.now() + ANSWER_TIMEOUT_MS;
    for (;;) {
      try {
        return await server.probe(url);
      } catch (error) {
        if (Date.now() > giveUpAt) throw error;
        await delay(100);
      }
    }
  };
  await answers();
  const { container: containers } = await getContainerRuntimeClient();
  const handle = containers.getById(started.getId());
  const start = async () => {
    await handle.start();
    await answers();
  };
  const control: ServerControl = {
    async restart(downMs = 0) {
      await handle.stop();
      await delay(downMs);
      await start();
    },
    kill: () => handle.kill(),
    start,
    pause: () => handle.pause(),
    resume: () => handle.unpause(),
  };
  return {
    url,
    control,
    async stop() {
      await started.stop();
    },
  };
}
