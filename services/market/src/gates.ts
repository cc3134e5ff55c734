/** What has to hold before anybody trades with anybody. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Registry } from './registry.ts';

/** Whoever is trusted less sells nothing. */
const SELLER_TRUST = 0.3;

export interface Parties {
  readonly seller: string;
  readonly buyer: string;
}

/** Throws SERVICE_UNAVAILABLE when the registry does not answer: nobody is trusted without it. */
export async function decideParties(
  registry: Pick<Registry, 'kin' | 'trust'>,
  { seller, buyer }: Parties,
  consents: boolean,
): Promise<Decision<null, 'E_SELF_TRADE' | 'E_CONSENT' | 'E_QUARANTINED' | 'E_SELLER_TRUST'>> {
  if (seller === buyer) return deny('E_SELF_TRADE');
  const [{ kin }, ofSeller, ofBuyer] = await Promise.all([
    registry.kin({ one: seller, other: buyer }),
    registry.trust({ entityId: seller }),
    registry.trust({ entityId: buyer }),
  ]);
  if (kin) return deny('E_SELF_TRADE');
  if (!consents) return deny('E_CONSENT');
  if (ofSeller.quarantined || ofBuyer.quarantined) return deny('E_QUARANTINED');
  return ofSeller.score < SELLER_TRUST ? deny('E_SELLER_TRUST', { needed: SELLER_TRUST }) : allow(null);
}

/** Silence counts as consent, unless the operator wants to hear it. */
export async function decideConsent(
  registry: Pick<Registry, 'setting'>,
  given: boolean | undefined,
  stamp: RegistryStamp | null,
): Promise<boolean> {
  return given ?? !(await registry.setting('market.requireConsent', stamp));
}
