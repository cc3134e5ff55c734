/** The health port of a process, open from its first moment to its last. */
import { type HealthPort, openHealthPort } from '@svc/runtime/health-port.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import type { ProcessContext } from './process-context.ts';

/** On any free port when none is set. */
export async function startHealthPort(
  { config, metrics, clock, node, log }: ProcessContext,
  lifecycle: Lifecycle,
): Promise<HealthPort> {
  const port = config.SVC_HEALTH_PORT ?? 0;
  const health = await openHealthPort({ host: config.SVC_HEALTH_BIND, port, metrics, clock, node, log });
  lifecycle.onShutdown('health port', () => health.close());
  return health;
}
