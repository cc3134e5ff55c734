/** One process of a cluster: a gateway, one of the services behind it, or several of them. */
import { hostname } from 'node:os';
import type { Check } from '@svc/contract/discovery.ts';
import { type Config, ConfigProblem } from '@svc/runtime/config.ts';
import type { Database } from '@svc/runtime/database.ts';
import { watchEventLoop } from '@svc/runtime/event-loop.ts';
import { measurePools, measureProcess } from '@svc/runtime/measures.ts';
import type { Link } from '@svc/runtime/platform.ts';
import type { ServicePlace } from '@svc/runtime/service.ts';
import { shareDataDirectory } from './data-directory.ts';
import { startHealthPort } from './health.ts';
import { httpUrl } from './http-url.ts';
import { connectCluster } from './platform.cluster.ts';
import { runProcess, type Start } from './process.ts';
import { roleContext } from './role-context.ts';
import type { CataloguedService } from './services.ts';

const GATEWAY = 'gateway';

/** A role that is connected and has not begun. */
interface ConnectedRole {
  readonly links: readonly Link[];
  readonly databases: readonly Database[];
  /** Resolves, when it serves, with its checks. */
  begin(place: ServicePlace): Promise<() => Promise<readonly Check[]>>;
}

/**
 * Ends with the process. Each role is `gateway` or a name among the services, with connections and logins of its own; they
 * start in the order of the services, a gateway last, whatever order they are named in.
 */
export async function runRoles(wanted: readonly string[], services: readonly CataloguedService[]): Promise<void> {
  await runProcess(wanted.join('+'), async (start) => {
    const names = services.map(({ name }) => name);
    const roles = [...names, GATEWAY].filter((role) => wanted.includes(role));
    if (roles.length === 0 || roles.length !== wanted.length)
      throw new ConfigProblem(`usage: node deploy/node.ts ${[GATEWAY, ...names].join('|')} …, each once`);
    const serving = services.filter(({ name }) => roles.includes(name));
    const hasGateway = roles.includes(GATEWAY);
    if (hasGateway) requireKey(start.context.config);
    // The servers are given some time to answer, which loading code would use up.
    await Promise.all([
      hasGateway && import('@svc/gateway/service.ts'),
      serving.length > 0 && import('./stores.cluster.ts'),
      ...serving.map(({ load }) => load()),
    ]);
    const connecting = [
      ...serving.map((service) => () => connectService(start, service)),
      ...(hasGateway ? [() => connectGateway(start, names)] : []),
    ];
    await runConnected(start, roles, connecting);
  });
}

async function runConnected(
  { context, lifecycle }: Start,
  roles: readonly string[],
  connecting: readonly (() => Promise<ConnectedRole>)[],
): Promise<void> {
  const { metrics, node } = context;
  const health = await startHealthPort(context, lifecycle);
  const connected = await Promise.all(connecting.map((connect) => connect()));
  measureProcess({ metrics, node, links: connected.flatMap(({ links }) => links) }, roles);
  measurePools(
    metrics,
    connected.flatMap(({ databases }) => databases.map(({ pool }) => pool)),
  );
  if (!roles.includes(GATEWAY)) {
    const loop = watchEventLoop(metrics);
    lifecycle.onShutdown('event loop', async () => loop.close());
  }
  const checks: (() => Promise<readonly Check[]>)[] = [];
  for (const { begin } of connected) checks.push(await begin({ host: hostname(), port: health.port }));
  health.serve(async () => (await Promise.all(checks.map((read) => read()))).flat());
  lifecycle.onShutdown('readiness', async () => health.leave());
  const serving = roles.filter((role) => role !== GATEWAY);
  if (serving.length === 0) return;
  const [is, its] = serving.length === 1 ? ['is', 'its'] : ['are', 'their'];
  process.stdout.write(
    `${serving.join(', ')} ${is} running, ${its} health at ${httpUrl(health.address, health.port)}\n`,
  );
}

async function connectService({ context, lifecycle }: Start, service: CataloguedService): Promise<ConnectedRole> {
  const { name, keepsFiles, start } = service;
  const { addStores } = await import('./stores.cluster.ts');
  const platform = await addStores(await connectCluster(roleContext(context, name), lifecycle, name), lifecycle);
  return {
    links: platform.links,
    databases: [platform.database],
    async begin(place) {
      if (keepsFiles) {
        const shared = shareDataDirectory(context.config);
        lifecycle.onShutdown('data directory', async () => shared.release());
      }
      const running = await start(platform, place);
      lifecycle.onShutdown(name, () => running.stop());
      return () => running.checks();
    },
  };
}

async function connectGateway(
  { context, lifecycle }: Start,
  expectedServices: readonly string[],
): Promise<ConnectedRole> {
  const { startGateway } = await import('@svc/gateway/service.ts');
  const platform = await connectCluster(roleContext(context, GATEWAY), lifecycle, GATEWAY);
  return {
    links: platform.links,
    databases: [],
    async begin() {
      const gateway = await startGateway(platform, { expectedServices });
      lifecycle.onShutdown(GATEWAY, () => gateway.close());
      lifecycle.onShutdown('doors', () => gateway.drain());
      gateway.started();
      process.stdout.write(`listening on ${httpUrl(gateway.address, gateway.port)}\n`);
      return async () => (await gateway.ready()).checks;
    },
  };
}

/** Without a key whoever reaches the gateway from its machine is the operator of the whole cluster. */
function requireKey({ SVC_API_KEY: key, SVC_KEYLESS: isKeyless }: Config): void {
  if (key !== undefined || isKeyless) return;
  throw new ConfigProblem(
    'SVC_API_KEY is needed by a gateway of a cluster; SVC_KEYLESS=1 makes everybody on its machine the operator instead',
  );
}
