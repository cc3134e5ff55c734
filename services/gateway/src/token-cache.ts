/** Tokens as the registry knows them, remembered under the hash of the raw token; the raw token itself is not kept. */
import { hash } from 'node:crypto';
import { type RegistryStamp, TOKENS_USED, type VerifiedToken } from '@svc/contract/registry.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createStampedCache, type RegistryClient, type Revision } from '@svc/runtime/registry.ts';
import type { TokenMeter } from './gateway-metrics.ts';
import { sessionOwnerOf } from './identity.ts';

/** A token as it came; `digest` = SHA-256 in hex. */
export interface PresentedToken {
  readonly raw: string;
  readonly digest: string;
}

export interface TokenCache {
  /** Whose session its calls had when it was last seen: good for finding that, not for believing. */
  sessionOwnerOf(token: PresentedToken): string | undefined;
  /** The token as it stands at `revision`; null = not valid. Throws SERVICE_UNAVAILABLE. */
  verify(token: PresentedToken, revision: Pick<Revision, 'stamp' | 'at'>): Promise<VerifiedToken | null>;
  /** Tells which tokens were used lately, then stops. */
  close(): void;
}

interface TokenCacheParts {
  readonly platform: Pick<StatelessPlatform, 'bus' | 'log'>;
  readonly registry: Pick<RegistryClient<'gateway'>, 'subject'>;
  readonly meter: TokenMeter;
}

const RAW_TOKEN = /^svc_[0-9a-f]{64}$/;
const MAX_KNOWN = 10_000;
/** Tokens that never were valid here are kept apart, so that guessing does not push out good ones. */
const MAX_STRANGE = 1000;
const REPORT_EVERY_MS = 60_000;
const REPORTED_AT_ONCE = 1000;
const MAX_UNREPORTED = 10_000;

/** Null when the text cannot be a token, so that nobody needs to be asked. */
export function presentedToken(raw: string): PresentedToken | null {
  return RAW_TOKEN.test(raw) ? { raw, digest: hash('sha256', raw, 'hex') } : null;
}

interface Question {
  readonly token: PresentedToken;
  /** Set when the answer was not in memory. */
  asked: boolean;
}

export function createTokenCache({ platform, registry, meter }: TokenCacheParts): TokenCache {
  const owners = new Map<string, string>();
  const uses = createUseReports(platform);
  const cacheOf = (max: number) =>
    createStampedCache<VerifiedToken | null, Question>({
      hangsOn: 'rev',
      max,
      keyOf: ({ token }) => token.digest,
      async read(question) {
        question.asked = true;
        const { stamp, token } = await registry.subject({ token: question.token.raw });
        return { stamp, value: token };
      },
    });
  const known = cacheOf(MAX_KNOWN);
  const strange = cacheOf(MAX_STRANGE);

  async function read(token: PresentedToken, stamp: RegistryStamp): Promise<VerifiedToken | null> {
    const startedAt = performance.now();
    const question: Question = { token, asked: false };
    const verified = await (owners.has(token.digest) ? known : strange).get(question, stamp);
    meter.verified(question.asked ? 'registry' : 'memory', (performance.now() - startedAt) / 1000);
    return verified;
  }

  function rememberOwner(digest: string, owner: string): void {
    if (owners.has(digest)) return;
    const [oldest] = owners.keys();
    if (owners.size >= MAX_KNOWN && oldest !== undefined) owners.delete(oldest);
    owners.set(digest, owner);
  }

  return {
    sessionOwnerOf: ({ digest }) => owners.get(digest),
    async verify(token, { stamp, at }) {
      const verified = await read(token, stamp);
      if (verified === null || verified.limits.expiresAt <= at) return null;
      if (isAnonymous(verified.subject)) return null;
      rememberOwner(token.digest, sessionOwnerOf(verified));
      uses.note(verified.limits.tokenId);
      return verified;
    },
    close: uses.close,
  };
}

/** At most one report a minute, because every use would be a write. */
function createUseReports({ bus, log }: TokenCacheParts['platform']): { note(tokenId: string): void; close(): void } {
  let used = new Set<string>();

  function report(): void {
    const tokenIds = [...used];
    used = new Set();
    try {
      for (let from = 0; from < tokenIds.length; from += REPORTED_AT_ONCE) {
        bus.publish(TOKENS_USED, JSON.stringify({ tokenIds: tokenIds.slice(from, from + REPORTED_AT_ONCE) }));
      }
    } catch (error) {
      log.debug({ err: error }, 'nobody heard which tokens were used');
    }
  }

  const timer = setInterval(report, REPORT_EVERY_MS);
  timer.unref();
  return {
    note(tokenId) {
      used.add(tokenId);
      if (used.size > MAX_UNREPORTED) report();
    },
    close() {
      clearInterval(timer);
      report();
    },
  };
}
