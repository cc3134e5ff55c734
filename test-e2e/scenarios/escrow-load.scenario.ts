/** Many spends at once, and spends that are sent again. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { memberAt } from '../instruments/members.ts';
import { createPool, memberFunds, poolFunds } from '../instruments/pools.ts';
import { REPEATED_SPENDS, SPENDS } from '../settings.ts';
import { newName, verifies } from '../verifies.ts';

const CLIENTS = 50;

verifies(
  'escrow:storm',
  async ({ keyed: place, report }) => {
    const { workspace, admin, members } = await createPool(place, SPENDS / 2, 5);
    const codes = new Map<string, number>();
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        const { caller } = memberAt({ workspace, members }, client % members.length);
        for (let n = 0; n < SPENDS / CLIENTS; n += 1) {
          const args = { workspaceId: workspace, amount: 1 };
          const reply = await caller.call('escrow_workspaceRecordSpend', args, { gateway: client + n });
          const code = codeOf(reply) ?? 'recorded';
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }
      }),
    );
    report(`${SPENDS} spends by ${CLIENTS} clients in ${Math.round(performance.now() - startedAt)} ms`);
    expect(Object.fromEntries(codes)).toEqual({ recorded: SPENDS / 2, E_POOL_EXCEEDED: SPENDS / 2 });
    expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: SPENDS / 2, available: 0, pending: 0 });
    const drawn = [...(await memberFunds(admin.caller, workspace)).values()];
    expect(drawn.reduce((sum, { spent }) => sum + spent, 0)).toBe(SPENDS / 2);
  },
  { timeoutMs: 300_000 + SPENDS * 60 },
);

const AT_ONCE = 16;

verifies(
  'escrow:idempotency',
  async ({ place, report }) => {
    const { workspace, admin, members } = await createPool(place, REPEATED_SPENDS * 2, 1);
    const { caller } = memberAt({ workspace, members }, 0);
    const problems: string[] = [];
    let [replays, turn] = [0, 0];
    const repeated = async (n: number): Promise<void> => {
      const headers = { 'idempotency-key': `${workspace}-${n}` };
      const args = { workspaceId: workspace, amount: 1, memo: `spend ${n}` };
      const send = (gateway: number, over: Fields = {}) =>
        caller.call('escrow_workspaceRecordSpend', { ...args, ...over }, { gateway, headers });
      const twins = await Promise.all([send(n), send(n + 1)]);
      const replies = [...twins, await send(n + 2)];
      const altered = await send(n, { amount: 2 });
      replays += replies.filter((reply) => reply.headers['idempotency-replayed'] === 'true').length;
      if (new Set(replies.map(({ text }) => text)).size !== 1 || replies.some((reply) => codeOf(reply) !== null))
        problems.push(replies.map(({ text }) => text).join(' / '));
      if (codeOf(altered) !== 'IDEMPOTENCY_KEY_REUSED') problems.push(altered.text);
    };
    const line = async (): Promise<void> => {
      while (turn < REPEATED_SPENDS) await repeated((turn += 1));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, line));
    expect(problems).toEqual([]);
    expect(replays).toBe(REPEATED_SPENDS * 2);
    expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: REPEATED_SPENDS });
    report(`${REPEATED_SPENDS} spends, each sent three times: ${REPEATED_SPENDS} recorded, ${replays} replayed`);
  },
  { timeoutMs: 300_000 + REPEATED_SPENDS * 200 },
);

verifies(
  'escrow:idempotency',
  async ({ place }) => {
    const { workspace, admin, members } = await createPool(place, 10, 1);
    const { caller } = memberAt({ workspace, members }, 0);
    const headers = { 'idempotency-key': newName('key') };
    const draw = (gateway: number) =>
      caller.call('escrow_workspaceRecordSpend', { workspaceId: workspace, amount: 11 }, { gateway, headers });
    const refused = await draw(0);
    expect(codeOf(refused)).toBe('E_POOL_EXCEEDED');
    await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 100 });
    const again = await draw(1);
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([refused.text, 'true']);
    const org = newName('o');
    const operator = new Caller(place);
    await operator.ok('escrow_create', { org, budget: 1 });
    const hold = { holdId: newName('h'), condition: { amount: 2, agent: org } };
    const unheld = await operator.call('escrow_hold', hold, { headers });
    await operator.ok('escrow_create', { org, budget: 5 });
    expect((await operator.call('escrow_hold', hold, { headers, gateway: 1 })).text).toBe(unheld.text);
    expect(await operator.ok('escrow_hold', hold)).toMatchObject({ held: true });
    const release = { holdId: hold.holdId };
    const released = await Promise.all(
      [0, 1].map((gateway) => operator.call('escrow_release', release, { headers, gateway })),
    );
    expect(new Set(released.map(({ text }) => text)).size).toBe(1);
    expect(released[0]?.body.result?.content).toEqual({ released: true, holdId: hold.holdId });
    expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: 0, available: 100 });
  },
  { title: 'A refused spend stays refused after the budget grew.' },
);
