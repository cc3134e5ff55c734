/** Requests of each plan within a window, exact over all gateways while Redis is there and never unlimited without it. */
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { CallError } from '@svc/contract/codes.ts';
import type { Shared, StatelessPlatform } from '@svc/runtime/platform.ts';
import type { PlanName } from '@svc/contract/registry.ts';
import { clientNetwork } from './client-address.ts';
import type { Identity } from './identity.ts';

/** What the reply says about the caller's window. `resetAtS`: seconds since the epoch. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtS: number;
  /** Milliseconds until the window ends when the request was one too many, else null. */
  readonly exceededForMs: number | null;
}

export interface Limits {
  /** Counts one request; null when limits are off. */
  count(identity: Pick<Identity, 'plan' | 'bucket'>): Promise<Rate | null>;
  /** Counts a wrong credential; null while the address may go on, else milliseconds until it may. */
  countFailure(address: string): Promise<number | null>;
}

const FAILURES_PER_WINDOW = 20;
const PLAN_LIMITS: Readonly<Record<PlanName, number>> = { free: 60, pro: 600, enterprise: 6000 };
const PLANS = ['free', 'pro', 'enterprise'] as const;

export function createLimits(
  { config, shared, clock }: Pick<StatelessPlatform, 'config' | 'shared' | 'clock'>,
  loopback: boolean,
): Limits {
  const { SVC_GATEWAYS: gateways, SVC_RATE_WINDOW_S: duration } = config;
  const limiter = (keyPrefix: string, points: number) =>
    createLimiter(shared, { keyPrefix, points, duration }, gateways);
  const limiters = new Map(
    PLANS.map((plan) => {
      const limit = config.SVC_PLAN_LIMITS?.[plan] ?? PLAN_LIMITS[plan];
      return [plan, { limit, limiter: limiter(`svc:rate:${plan}`, limit) }];
    }),
  );
  const failures = limiter('svc:failed', FAILURES_PER_WINDOW);
  const isOn = config.SVC_RATE_LIMIT || !loopback;

  return {
    async count({ plan, bucket }) {
      const known = limiters.get(plan);
      if (!isOn || known === undefined) return null;
      const { window, exceeded } = await consume(known.limiter, bucket);
      return {
        limit: known.limit,
        remaining: window.remainingPoints,
        resetAtS: Math.ceil((clock.now() + window.msBeforeNext) / 1000),
        exceededForMs: exceeded ? window.msBeforeNext : null,
      };
    },
    async countFailure(address) {
      if (!isOn) return null;
      const { window, exceeded } = await consume(failures, clientNetwork(address));
      return exceeded ? window.msBeforeNext : null;
    },
  };
}

function createLimiter(
  shared: Shared,
  window: { readonly keyPrefix: string; readonly points: number; readonly duration: number },
  gateways: number,
): RateLimiterAbstract {
  return shared<RateLimiterAbstract>({
    memory: () => new RateLimiterMemory(window),
    redis: (redis) =>
      new RateLimiterRedis({
        ...window,
        storeClient: redis,
        rejectIfRedisNotReady: true,
        insuranceLimiter: new RateLimiterMemory({
          ...window,
          points: Math.max(1, Math.floor(window.points / gateways)),
        }),
      }),
  });
}

/** The library rejects with the window itself when the points are used up, and with an Error when its store fails. */
async function consume(
  limiter: RateLimiterAbstract,
  key: string,
): Promise<{ readonly window: RateLimiterRes; readonly exceeded: boolean }> {
  try {
    return { window: await limiter.consume(key), exceeded: false };
  } catch (reason) {
    if (reason instanceof RateLimiterRes) return { window: reason, exceeded: true };
    throw reason;
  }
}

export function rateLimited(forMs: number): CallError {
  return new CallError('RATE_LIMITED', undefined, { retryAfterMs: Math.max(1, Math.ceil(forMs)) });
}
