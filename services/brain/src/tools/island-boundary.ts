/** The boundary of an island as its tools ask it: before anything of the island moves. */
import { CallError } from '@svc/contract/codes.ts';
import type { PolicyMode } from '@svc/contract/policy.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import { judgeBoundary } from '../domain/island/boundary.ts';
import type { RowView } from '../ports.ts';
import type { IslandDenial } from '../store/island-denials.ts';
import type { CallContext } from './target.ts';

/** The rules as they apply to the caller. Throws SERVICE_UNAVAILABLE when they cannot be had. */
export function viewRules({ deps, caller }: CallContext, brain: string): Promise<RowView> {
  return deps.rules.view(caller.subject, brain, caller.registry);
}

/** Denials are told and audited; throws E_ISLAND_WRITE_DENIED for a write by nobody in particular, else RLS_DENIED. */
export async function assertBoundary(
  context: CallContext,
  rows: RowView,
  names: readonly string[],
  op: IslandDenial['op'],
): Promise<void> {
  const { deps, caller } = context;
  const mode: PolicyMode = op === 'save' ? 'write' : 'read';
  const denials: IslandDenial[] = [];
  for (const island of new Set(names)) {
    const gate = rows.gate(island);
    const { allowed, because } = judgeBoundary(gate, caller.subject, mode);
    if (!allowed && gate !== null) denials.push({ island, mode, op, because, container: gate.container });
  }
  if (denials.length === 0) return;
  await deps.tellDenials(caller, denials);
  const isNobody = mode === 'write' && isAnonymous(caller.subject);
  throw new CallError(isNobody ? 'E_ISLAND_WRITE_DENIED' : 'RLS_DENIED');
}
