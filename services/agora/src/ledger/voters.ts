/** What the registry says of a voter when a ballot of it is admitted. */
import type { Caller } from '@svc/contract/tool.ts';
import { membershipOf, scopeOfNothing } from '../access.ts';
import type { AgoraDeps } from '../deps.ts';
import type { Header } from './domain/ledger.ts';
import { EQUAL_WEIGHT, weightOf } from './domain/tally.ts';
import type { VoterFacts } from './store/casting.ts';

type Asked = Pick<Header, 'scope' | 'weighting'>;

/** What is asked for a topic that is not there: as much as for one that the voter may not see. */
export function headerOfNothing(topic: string): Asked {
  return { scope: scopeOfNothing(topic), weighting: 'equal' };
}

/** Throws SERVICE_UNAVAILABLE: without the registry nobody is a member, and nobody free of quarantine. */
export async function voterFacts(
  deps: Pick<AgoraDeps, 'registry'>,
  caller: Caller,
  { scope, weighting }: Asked,
  voter: string,
): Promise<VoterFacts> {
  const { registry } = deps;
  const [membership, { score, quarantined }, isAsked] = await Promise.all([
    scope === null ? '' : membershipOf(deps, caller, { owner: scope.owner, agentId: voter }),
    registry.trust({ entityId: voter }),
    registry.setting('agora.requireRegistry', caller.registry),
  ]);
  return {
    isMember: membership !== null,
    isRegistered: isAsked ? (await registry.context({ agentId: voter })).subject !== null : null,
    isQuarantined: quarantined,
    weight: weighting === 'trust' ? weightOf(score) : EQUAL_WEIGHT,
  };
}
