/** Crews that two processes assemble on one PostgreSQL at once: whole or not at all, and no agent twice. */
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import type { Database } from '@svc/runtime/database.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCrewBed } from '../../testing/crew-bed.ts';
import { createCutBus, MOMENTS } from '../../testing/cut-bus.ts';

type Bed = Awaited<ReturnType<typeof openCrewBed>>;
const CALLERS = 12;
const LIMIT = 120;
/** Of one family in a minute. */
const MOST_SPAWNS = 60;

await onPostgres((open) => {
  const cutting = createCutBus(['assemble', 'open']);
  const beds: Bed[] = [];
  const databases: Database[] = [];

  beforeAll(async () => {
    for (const options of [{ bus: cutting.bus }, {}]) {
      const database = await open();
      databases.push(database);
      beds.push(await openCrewBed(database, options));
    }
  });
  afterAll(async () => {
    for (const bed of beds) await bed.stop();
    for (const database of databases) await database.close();
  });

  const bedOf = (turn: number): Bed => {
    const bed = beds[turn % beds.length];
    if (bed === undefined) throw new Error('no process has started');
    return bed;
  };
  const count = async (sql: string, ...values: readonly unknown[]): Promise<number> => {
    const counted = await databases[0]?.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${sql}`, [
      ...values,
    ]);
    return counted?.rows[0]?.count ?? -1;
  };
  /** All that there is of crews with such names. */
  const left = async (like: string) => ({
    crews: await count('universe.crews WHERE name LIKE $1', like),
    whole: await count(`universe.crews WHERE name LIKE $1 AND step = 'done'`, like),
    workspaces: await count(`habitat.workspaces WHERE workspace_id LIKE 'crew-' || $1`, like),
    agents: await count(`habitat.agents WHERE killed_at IS NULL AND workspace LIKE 'crew-' || $1`, like),
    pools: await count(`escrow.accounts WHERE account_id LIKE 'crew:' || $1`, like),
  });
  const atOnce = (wishOf: (turn: number) => Fields, agentId?: string): Promise<Fields[]> => {
    const subject = { agentId, verified: true };
    const over = agentId === undefined ? {} : { subject, operator: false, principal: agentId };
    return Promise.all(
      Array.from({ length: CALLERS }, (_, turn) =>
        bedOf(turn).call('svc_scenario_crew', wishOf(turn), 'universe', over),
      ),
    );
  };

  test('a crew that many ask for at once is made once', async () => {
    const answers = await atOnce(() => ({ name: 'same' }));
    expect(answers.filter(({ created }) => created === true)).toHaveLength(1);
    expect(new Set(answers.map(({ roster }) => JSON.stringify((roster as Fields[]).map(({ id }) => id)))).size).toBe(1);
    expect(await left('same')).toEqual({ crews: 1, whole: 1, workspaces: 1, agents: 3, pools: 1 });
  });

  test('of many crews of one name one comes into being, and nothing of the others', async () => {
    const answers = await atOnce((turn) => ({ name: 'rivals', agents: 2 + (turn % 6) }));
    const made = answers.filter(({ ok }) => ok === true);
    const refused = answers.filter(({ ok }) => ok === false);
    expect(made.length + refused.length).toBe(CALLERS);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['E_SCENARIO_NAME']));
    const sizes = new Set(made.map(({ roster }) => (roster as Fields[]).length));
    expect(sizes.size).toBe(1);
    expect(await left('rivals')).toEqual({ crews: 1, whole: 1, workspaces: 1, agents: [...sizes][0], pools: 1 });
  });

  test('what the registry refuses leaves nothing behind', async () => {
    const size = 10;
    const answers = await atOnce((turn) => ({ name: `many-${turn}`, agents: size }), 'ann');
    const made = answers.filter(({ ok }) => ok === true).length;
    expect(made).toBe(MOST_SPAWNS / size);
    for (const one of answers.filter(({ ok }) => ok === false)) expect(one).toMatchObject({ code: 'E_SCENARIO_SPAWN' });
    expect(await left('many-%')).toEqual({
      crews: made,
      whole: made,
      workspaces: made,
      agents: made * size,
      pools: made,
    });
  });

  describe('where somebody else has opened the pool', () => {
    const taken = async (name: string) => {
      await bedOf(0).call('escrow_create', { agentId: `crew:${name}`, budget: 7 }, 'escrow');
      return { name };
    };
    const NOTHING = { crews: 0, whole: 0, workspaces: 0, agents: 0, pools: 1 };
    /** Who comes while it is undone is to come again. */
    const codeOf = (asked: Promise<Fields>) =>
      asked.then(
        ({ code }) => code,
        (error: Error) => error.message,
      );

    test('all that ask for the crew at once are refused, and nothing of it is left', async () => {
      const wish = await taken('taken');
      const asked = Array.from({ length: CALLERS }, (_, turn) => bedOf(turn).call('svc_scenario_crew', wish));
      const codes = await Promise.all(asked.map(codeOf));
      expect(codes).toContain('E_SCENARIO_NAME');
      expect(codes.filter((code) => code !== 'E_SCENARIO_NAME' && code !== 'SERVICE_UNAVAILABLE')).toEqual([]);
      expect(await left('taken')).toEqual(NOTHING);
    });

    test('agents that are asked for after they were sent away do not come back', async () => {
      const wish = await taken('late');
      const cut = cutting.cutAt(0, 'unasked');
      const late = codeOf(bedOf(0).call('svc_scenario_crew', wish));
      await cut.reached;
      expect(await codeOf(bedOf(1).call('svc_scenario_crew', wish))).toBe('E_SCENARIO_NAME');
      cut.letGo();
      expect(await late).toBe('SERVICE_UNAVAILABLE');
      expect(await left('late')).toEqual(NOTHING);
      expect(await codeOf(bedOf(0).call('svc_scenario_crew', wish))).toBe('E_SCENARIO_NAME');
    });
  });

  const cuts = ['assemble', 'open'].flatMap((step, index) => MOMENTS.map((moment) => ({ step, index, moment })));
  test.each(cuts)('one that is cut off where $step is $moment is finished by the other', async ({ index, moment }) => {
    const name = `cut-${index}-${moment}`;
    const cut = cutting.cutAt(index, moment);
    const cutOne = bedOf(0).call('svc_scenario_crew', { name });
    await cut.reached;
    await bedOf(1).universe.deps.crews.reconciler.finish({ alone: true });
    const whole = { crews: 1, whole: 1, workspaces: 1, agents: 3, pools: 1 };
    expect(await left(name)).toEqual(whole);
    const other = await bedOf(1).call('svc_scenario_crew', { name });
    cut.letGo();
    const { roster } = await cutOne;
    expect((roster as Fields[]).map(({ id }) => id)).toEqual((other['roster'] as Fields[]).map(({ id }) => id));
    expect(await left(name)).toEqual(whole);
    expect(await bedOf(0).call('svc_scenario_status', { crew: name })).toMatchObject({
      phase: 'ready',
      pool: { limit: LIMIT, spent: 0, pending: 0, available: LIMIT },
    });
  });
});
