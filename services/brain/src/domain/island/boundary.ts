/** The boundary of an island: the policy attached to `_island:<name>`. Without one the island is open. */
import { decide, type Policy, type PolicyMode, type Verdict } from '@svc/contract/policy.ts';
import { isAnonymous, type Subject } from '@svc/contract/subject.ts';
import { isKnownFilter, isKnownMask } from '@svc/contract/transform.ts';

/** `because` as the row rules say it; also `no-policy`, and `anonymous` for a write by nobody in particular. */
export function judgeBoundary(gate: Policy | null, subject: Subject, mode: PolicyMode): Verdict {
  if (gate === null) return { allowed: true, because: 'no-policy' };
  if (mode === 'write' && isAnonymous(subject)) return { allowed: false, because: 'anonymous' };
  const verdict = decide(gate, subject, mode);
  if (!verdict.allowed || mode === 'write') return verdict;
  const canBeShown = isKnownFilter(gate.filter) && isKnownMask(gate.mask);
  return canBeShown ? verdict : { allowed: false, because: 'transform' };
}
