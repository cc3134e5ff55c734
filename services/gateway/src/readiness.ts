/** Whether this gateway should get traffic, and what it waits for if not. */
import { type Check, SUBJECTS } from '@svc/contract/discovery.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Registry } from './registry.ts';

export interface Readiness {
  check(): Promise<{ readonly ready: boolean; readonly checks: readonly Check[] }>;
  /** From now on not ready: the balancer shall look elsewhere. */
  leave(): void;
}

const ANSWER_WITHIN_MS = 1000;
const MAX_LOOP_DELAY_MS = 200;
/** Asking again and again must not become load on the services. */
const REMEMBERED_MS = 250;

const Checks = z.array(z.object({ name: z.string(), status: z.enum(['ok', 'fail']) }));

export function createReadiness(
  { bus, clock }: Pick<StatelessPlatform, 'bus' | 'clock'>,
  registry: Registry,
  metrics: GatewayMetrics,
  expectedServices: readonly string[],
): Readiness {
  let leaving = false;
  let remembered: { readonly until: number; readonly checks: Promise<Check[]> } = {
    until: 0,
    checks: Promise.resolve([]),
  };

  async function serviceChecks(service: string): Promise<Check[]> {
    try {
      const reply = await bus.request(SUBJECTS.checks(service), '', { deadlineAt: clock.now() + ANSWER_WITHIN_MS });
      const checks = Checks.parse(JSON.parse(reply));
      return [
        check(service, registry.knows(service)),
        ...checks.map(({ name, status }) => ({ name: `${service}:${name}`, status })),
      ];
    } catch {
      return [check(service, false)];
    }
  }

  async function allServiceChecks(): Promise<Check[]> {
    const services = [...new Set([...expectedServices, ...registry.services()])].sort();
    return (await Promise.all(services.map(serviceChecks))).flat();
  }

  return {
    leave() {
      leaving = true;
    },
    async check() {
      if (clock.now() >= remembered.until) {
        remembered = { until: clock.now() + REMEMBERED_MS, checks: allServiceChecks() };
      }
      const checks = [
        check('accepting', !leaving),
        check('bus', bus.connected),
        check('event-loop', metrics.eventLoopDelayMs() < MAX_LOOP_DELAY_MS),
        ...(leaving ? [] : await remembered.checks),
      ];
      return { ready: checks.every(({ status }) => status === 'ok'), checks };
    },
  };
}

function check(name: string, isOk: boolean): Check {
  return { name, status: isOk ? 'ok' : 'fail' };
}
