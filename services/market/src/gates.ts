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

/** Under whom what the buyer does is counted, and who of the two deals no more. Throws SERVICE_UNAVAILABLE when the registry does not answer: nobody is trusted without it. */
export async function decideParties(
  registry: Pick<Registry, 'parties'>,
  { seller, buyer }: Parties,
  consents: boolean,
): Promise<
  Decision<
    { readonly buyerFamily: string; readonly ended: ReadonlyMap<string, 'killed' | 'no role'> },
    'E_SELF_TRADE' | 'E_CONSENT' | 'E_QUARANTINED' | 'E_SELLER_TRUST'
  >
> {
  if (seller === buyer) return deny('E_SELF_TRADE');
  const { kin, trust, families, ended = {} } = await registry.parties({ one: seller, other: buyer, ended: true });
  if (kin) return deny('E_SELF_TRADE');
  if (!consents) return deny('E_CONSENT');
  const [ofSeller, ofBuyer] = [trust[seller], trust[buyer]];
  if (ofSeller === undefined || ofBuyer === undefined) throw new Error('the trust of both was asked for');
  if (ofSeller.quarantined || ofBuyer.quarantined) return deny('E_QUARANTINED');
  if (ofSeller.score < SELLER_TRUST) return deny('E_SELLER_TRUST', { needed: SELLER_TRUST });
  return allow({ buyerFamily: families[buyer] ?? buyer, ended: new Map(Object.entries(ended)) });
}

/** Silence counts as consent, unless the operator wants to hear it. */
export async function decideConsent(
  registry: Pick<Registry, 'setting'>,
  given: boolean | undefined,
  stamp: RegistryStamp | null,
): Promise<boolean> {
  return given ?? !(await registry.setting('market.requireConsent', stamp));
}
