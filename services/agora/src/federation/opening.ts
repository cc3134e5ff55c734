/** Opens what agora has of other deployments, on top of its ledgers. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { AgoraStore } from '../ledger/store/events.ts';
import { EQUAL_WEIGHT, weightOf } from '../ledger/domain/tally.ts';
import type { Casting } from '../ledger/store/casting.ts';
import { createFederatedLedgers } from '../ledger/store/federated-ledgers.ts';
import type { LedgerStore } from '../ledger/store/ledger-store.ts';
import type { Registry } from '../registry.ts';
import type { Ledgers } from './ledgers.ts';
import { createNode, type FederatedNode } from './node.ts';
import { Syncing } from './syncing.ts';

export interface FederationDeps {
  readonly node: FederatedNode;
  readonly syncing: Syncing;
  readonly federatedLedgers: Ledgers;
}

interface Parts {
  readonly store: AgoraStore;
  readonly casting: Casting;
  readonly ledgers: LedgerStore;
  readonly registry: Registry;
}

/** Nobody is heard before `node.start()`. */
export function openFederation(platform: Platform, { store, casting, ledgers, registry }: Parts): FederationDeps {
  const isMember: Membership = async (owner, agentId, stamp) =>
    (await registry.membership(owner, agentId, stamp)) !== null;
  const federatedLedgers = createFederatedLedgers({
    store,
    casting,
    ledgers,
    async remoteFacts({ scope, weighting }, voter) {
      const [isIn, { score, quarantined }] = await Promise.all([
        scope === null || isMember(scope.owner, voter, null),
        registry.trust({ entityId: voter }),
      ]);
      const weight = weighting === 'trust' ? weightOf(score) : EQUAL_WEIGHT;
      return { isMember: isIn, isQuarantined: quarantined, weight };
    },
  });
  const isLocal = async (agentId: string): Promise<boolean> => (await registry.context({ agentId })).subject !== null;
  const asked = { ledgers: federatedLedgers, isMember, isLocal };
  const node = createNode({ platform, store, ...asked });
  const syncing = new Syncing({ node, ...asked, now: () => platform.clock.now(), registry });
  return { node, syncing, federatedLedgers };
}

type Membership = ConstructorParameters<typeof Syncing>[0]['isMember'];
