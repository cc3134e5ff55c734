/** What the universe asks for its crews. */
import { allow } from '@svc/contract/decision.ts';
import type { OperationContext } from '@svc/runtime/operations.ts';
import type { HabitatDeps } from '../deps.ts';
import { readLiving } from '../store/agent-rows.ts';
import { readStandings } from '../store/trust-rows.ts';
import type { HabitatCall } from '../store/unit.ts';
import type { HabitatHandlers } from './handlers.ts';
import { trustOf } from './trust.ts';

export const crewOperations: HabitatHandlers<'assemble' | 'disband' | 'agentStates'> = {
  async assemble(wish, asked) {
    const { decision } = await asked.deps.store.assembleCrew(callOf(asked, wish.owner), wish);
    return decision.ok ? allow({ assembled: true }) : decision;
  },
  async disband(wish, asked) {
    await asked.deps.store.disbandCrew(callOf(asked, asked.by), wish);
    return { disbanded: true };
  },
  async agentStates({ agentIds }, { deps: { store } }) {
    const [living, standings] = await Promise.all([
      readLiving(store.client, agentIds),
      readStandings(store.client, agentIds),
    ]);
    const states = agentIds.map((agentId) => {
      const standing = standings.get(agentId);
      if (standing === undefined) throw new Error('an entity that was asked for has no standing');
      return { agentId, alive: living.has(agentId), ...trustOf(standing) };
    });
    return { states };
  },
};

/** On behalf of whoever wants the crew: what it may do is judged here. */
function callOf({ deadlineAt, operator }: OperationContext<HabitatDeps>, identity: string | null): HabitatCall {
  const subject = identity === null ? {} : { agentId: identity, verified: true };
  return { caller: { subject, operator, token: null, deadlineAt }, idempotency: null };
}
