/** Whether this gateway should get traffic, and what it waits for if not. */
import { type Check, CLOCKS_DIFFER_MS, SUBJECTS } from '@svc/contract/discovery.ts';
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
import { check, linkChecks } from '@svc/runtime/checks.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { ServiceDirectory } from './service-directory.ts';

/** `degraded`: names of what is wrong although this gateway serves. */
export interface Standing {
  readonly ready: boolean;
  readonly checks: readonly Check[];
  readonly degraded: readonly string[];
}

export interface Readiness {
  check(): Promise<Standing>;
  /** From now on not ready: the balancer shall look elsewhere. */
  leave(): void;
}

const ANSWER_WITHIN_MS = 1000;
const MAX_LOOP_DELAY_MS = 200;
/** Asking again and again must not become load on the services. */
const REMEMBERED_MS = 250;

const Checks = z.array(z.object({ name: z.string(), status: z.enum(['ok', 'degraded', 'fail']) }));

export function createReadiness(
  platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'links'>,
  directory: ServiceDirectory,
  metrics: GatewayMetrics,
  expectedServices: readonly string[],
): Readiness {
  const { bus, clock } = platform;
  let leaving = false;
  let remembered: { readonly at: number; readonly checks: Promise<Check[]> } = {
    at: Number.NEGATIVE_INFINITY,
    checks: Promise.resolve([]),
  };

  async function serviceChecks(service: string): Promise<Check[]> {
    try {
      const reply = await bus.request(SUBJECTS.checks(service), '', { deadlineAt: clock.now() + ANSWER_WITHIN_MS });
      const checks = Checks.parse(JSON.parse(reply));
      return [
        check(service, directory.knows(service)),
        ...checks.map(({ name, status }) => ({ name: `${service}:${name}`, status })),
      ];
    } catch {
      // One that nobody counts on may be gone for good.
      return [expectedServices.includes(service) ? check(service, false) : { name: service, status: 'degraded' }];
    }
  }

  async function allServiceChecks(): Promise<Check[]> {
    const services = [...new Set([...expectedServices, ...directory.services()])].sort();
    return [...(await Promise.all(services.map(serviceChecks))).flat(), ...differences(directory, expectedServices)];
  }

  return {
    leave() {
      leaving = true;
    },
    async check() {
      const now = clock.now();
      // Nothing is remembered from a time that is still to come: the clock was set back.
      if (now < remembered.at || now >= remembered.at + REMEMBERED_MS)
        remembered = { at: now, checks: allServiceChecks() };
      const checks = [
        check('accepting', !leaving),
        ...linkChecks(platform),
        check('event-loop', metrics.eventLoopDelayMs() < MAX_LOOP_DELAY_MS),
        ...(leaving ? [] : await remembered.checks),
      ];
      const degraded = checks.flatMap(({ name, status }) => (status === 'degraded' ? [name] : []));
      metrics.degraded(degraded);
      return { ready: checks.every(({ status }) => status !== 'fail'), checks, degraded };
    },
  };
}

/** What processes tell of themselves that does not go together. */
function differences(directory: ServiceDirectory, expectedServices: readonly string[]): Check[] {
  return [...clockChecks(directory, expectedServices), ...groundChecks(directory)];
}

/** Of each service what its processes do not have in common, by the variables: what it answers depends on who is asked. */
function groundChecks({ instances, isAlive }: Pick<ServiceDirectory, 'instances' | 'isAlive'>): Check[] {
  const services = Map.groupBy(instances().filter(isAlive), ({ service }) => service);
  return [...services].flatMap(([service, processes]) => {
    const digests = processes.flatMap(({ common = {} }) => Object.entries(common));
    return [...Map.groupBy(digests, ([name]) => name)]
      .filter(([, those]) => isApart(those.map(([, of]) => of)))
      .map(([name]) => ({ name: `${service}:${name}`, status: 'degraded' as const }));
  });
}

/** Whether two of them have nothing in common. */
function isApart(digests: readonly (readonly string[])[]): boolean {
  return digests.some((one) => digests.some((other) => !one.some((digest) => other.includes(digest))));
}

/**
 * A process whose clock is another one lets calls wait for too long, or refuses those that are in time. Where all of a service
 * do that with most calls of this gateway, another gateway may be right.
 */
function clockChecks(
  { instances, isAlive }: Pick<ServiceDirectory, 'instances' | 'isAlive'>,
  expectedServices: readonly string[],
): Check[] {
  const services = Map.groupBy(instances().filter(isAlive), ({ service }) => service);
  return [...services].flatMap(([service, processes]) => {
    const ahead = processes.map(({ lastSeenAt, sentAt = lastSeenAt }) => sentAt - lastSeenAt);
    if (ahead.every((ms) => Math.abs(ms) <= CLOCKS_DIFFER_MS)) return [];
    const isLost = expectedServices.includes(service) && ahead.every((ms) => ms > DEFAULT_DEADLINE_MS);
    return [{ name: `${service}:clock`, status: isLost ? 'fail' : 'degraded' }];
  });
}
