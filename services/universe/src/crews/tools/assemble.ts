/** svc_scenario_crew: a crew comes into being. */
import { creditsFromAmount } from '@svc/contract/amount.ts';
import { actorOf, mayActIn } from '@svc/contract/actor.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { universeOf } from '../../worlds/domain/seed-chain.ts';
import { decideCrew } from '../domain/crew.ts';
import { Crew, DRESS, EMPTY_POOL, MemberShown, ok, Phase, PoolShown, universe } from './shapes.ts';

export const assemble = defineTool({
  name: 'svc_scenario_crew',
  area: 'scenario',
  description: 'Assembles a crew: new agents in a workspace of their own, and one pool of credits for all of them.',
  input: z.strictObject({
    name: Crew,
    agents: z.number().default(3).describe('How many, 2-10.'),
    budget: z.number().default(120).describe('Credits of the pool: at least one for each agent, at most 100000.'),
    universe,
  }),
  output: z.strictObject({
    ok,
    created: z.boolean().describe('False: the caller had made the same crew before.'),
    crew: z.string(),
    phase: Phase,
    roster: z.array(MemberShown),
    workspace: z.string(),
    seed: z.string(),
    universe: z.string().describe('Fingerprint of the universe.'),
    pool: PoolShown,
  }),
  access: 'identified',
  effect: 'write',
  refuses: [
    'E_SCENARIO_NAME',
    'E_SCENARIO_CREW',
    'E_SCENARIO_BUDGET',
    'E_SCENARIO_SPAWN',
    'E_SNAPSHOT_UNIVERSE',
    'E_STATE_WRITE',
  ],
  dress: DRESS,
  example: { name: 'alpha' },
  async handler({ universe: named, ...wish }, call) {
    const { deps, caller, take, refuse } = call;
    const { crews } = deps;
    const plan = take(decideCrew(wish));
    const universe = take(universeOf({ named, configured: crews.universe }));
    const fresh = crews.drawUp(plan, universe, actorOf(caller));
    const { name, workspace } = fresh;
    // A token that is bound elsewhere does nothing here.
    if (!mayActIn(caller, workspace)) throw refuse('E_SCENARIO_SPAWN', { reason: 'FORBIDDEN' });
    const { created } = settled(call, await crews.assembling.assemble(call, fresh));
    const crew = await crews.find(name);
    if (crew === null) throw new Error('a crew was assembled and has no row');
    // A repetition is answered like the first call, whatever became of it since.
    const limit = creditsFromAmount(plan.limit);
    const now = created
      ? { phase: 'ready' as const, pool: { ...EMPTY_POOL, limit, available: limit } }
      : { phase: crew.phase, pool: (await crews.pool(crew)) ?? EMPTY_POOL };
    const { roster, seed } = crew;
    return {
      ok: true as const,
      created,
      crew: name,
      roster: [...roster],
      workspace,
      seed,
      universe: crew.universe,
      ...now,
    };
  },
});
