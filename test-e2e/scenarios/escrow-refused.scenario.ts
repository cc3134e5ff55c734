/** What is refused leaves no row, whoever asked and however. */
import { expect } from 'vitest';
import { Caller, codeOf, type Reply } from '../client.ts';
import { countRows } from '../instruments/ledger-rows.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { createPool } from '../instruments/pools.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

/** As they stand in the body. */
const NEITHER_SPENT_NOR_SET = [
  ['-1', '-0.000001', '1e-7', '0.0000001', '1.0000001', '0.1234567', '123456.1234567', '5e-324'],
  ['1000000000.000001', '1000000001', '9007199254740992', '1e21', '1.7976931348623157e308', '1e400', '-1e400'],
  ['"1"', '"1e3"', '"NaN"', '"Infinity"', '"-1"', '"１"', '"١"', '""', '" 1"', '"0x10"', '"1n"', '"1,5"', '"1_000"'],
  ['[]', '[1]', '{}', '{"valueOf":1}', '{"toString":"1"}', '{"amount":1}', 'true', 'false'],
].flat();
const NOT_SPENT = ['0', '-0', '0.0', '-0.0'];

const target = ownTarget();

interface AmountTool {
  readonly tool: string;
  /** With `$` for the amount. */
  readonly args: string;
  /** Whether the amount is a limit, which may be 0. */
  readonly limit: boolean;
}

/** The text of the amount reaches the wire as it is, not as a number of ours. */
function send(caller: Caller, { tool, args }: AmountTool, amount: string): Promise<Reply> {
  const params = `{"name":"${tool}","arguments":${args.replace('$', amount)}}`;
  return caller.send('/call', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
}

verifies(
  'escrow:amounts',
  async ({ report }) => {
    const { place } = target.get();
    const operator = new Caller(place);
    const org = newName('o');
    await operator.ok('escrow_create', { org });
    const { workspace, admin, members } = await createPool(place, 1000, 1);
    const { id } = memberAt({ workspace, members }, 0);
    const inPool = `"workspaceId":"${workspace}","agentId":"${id}"`;
    const asAdmin = `"workspaceId":"${workspace}","adminId":"${admin.id}"`;
    const tools: AmountTool[] = [
      { tool: 'escrow_workspaceRecordSpend', args: `{${inPool},"amount":$}`, limit: false },
      { tool: 'escrow_workspaceCanSpend', args: `{${inPool},"amount":$}`, limit: false },
      { tool: 'escrow_canSpend', args: `{"agent":"${org}","amount":$}`, limit: false },
      { tool: 'escrow_hold', args: `{"holdId":"bad","condition":{"agent":"${org}","amount":$}}`, limit: false },
      { tool: 'escrow_create', args: `{"org":"${newName('o')}","budget":$}`, limit: true },
      { tool: 'escrow_setWorkspaceBudget', args: `{${asAdmin},"amount":$}`, limit: true },
      { tool: 'escrow_setWorkspaceMemberLimit', args: `{${asAdmin},"agentId":"${id}","limit":$}`, limit: true },
    ];
    const before = await countRows(target.get());
    const accepted: string[] = [];
    let sent = 0;
    for (const tool of tools) {
      for (const amount of tool.limit ? NEITHER_SPENT_NOR_SET : [...NEITHER_SPENT_NOR_SET, ...NOT_SPENT]) {
        const reply = await send(operator, tool, amount);
        sent += 1;
        if (reply.status !== 400 || codeOf(reply) !== 'VAF_INPUT_INVALID')
          accepted.push(`${tool.tool} ${amount}: ${reply.text}`);
      }
      for (const noJson of ['NaN', 'Infinity', '01', '1.', '+1', '0x1', '1n']) {
        const reply = await send(operator, tool, noJson);
        if (reply.status !== 400 || codeOf(reply) !== 'PARSE_ERROR')
          accepted.push(`${tool.tool} ${noJson}: ${reply.text}`);
      }
    }
    expect(accepted).toEqual([]);
    expect(await countRows(target.get())).toEqual(before);
    report(`${sent} bad amounts refused`);
  },
  { on: target, title: 'Forty bad amounts are refused everywhere and leave no row.' },
);

verifies(
  ['escrow:unknown-workspace', 'escrow:opening', 'escrow:hold:reserves', 'escrow:foreign'],
  async () => {
    const { place } = target.get();
    const operator = new Caller(place);
    const own = await createMembers(place, 'admin', 'editor');
    const [admin, editor] = [memberAt(own, 0), memberAt(own, 1)];
    const poor = newName('o');
    await operator.ok('escrow_create', { org: poor, budget: 1 });
    const before = await countRows(target.get());
    const ghost = newName('ghost');
    for (const [caller, agentId] of [[operator, editor.id] as const, [operator, newName('nobody')] as const]) {
      const canSpend = await caller.ok('escrow_workspaceCanSpend', { workspaceId: ghost, agentId });
      expect(canSpend).toMatchObject({ allowed: false, reason: 'unknown_workspace', available: 0, poolAvailable: 0 });
    }
    for (const [caller, agentId] of [[operator, editor.id] as const, [editor.caller, editor.id] as const]) {
      const spend = { workspaceId: ghost, agentId, amount: 1 };
      expect(await caller.refused('E_UNKNOWN_WORKSPACE', 'escrow_workspaceRecordSpend', spend)).toMatchObject({
        recorded: false,
        reason: 'unknown_workspace',
      });
      const hold = { holdId: newName('h'), condition: { workspace: ghost, agent: agentId, amount: 1 } };
      expect(await caller.refused('E_UNKNOWN_WORKSPACE', 'escrow_hold', hold)).toMatchObject({ held: false });
    }
    await editor.caller.refused('E_UNKNOWN_WORKSPACE', 'escrow_getWorkspacePool', { workspaceId: ghost });
    await admin.caller.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', { workspaceId: ghost, amount: 1 });
    for (const org of [newName('nobody'), editor.id, `scenario:x:${editor.id}`]) {
      await operator.ok('escrow_canSpend', { agent: org });
      await operator.ok('escrow_status', { org });
    }
    expect(await editor.caller.ok('escrow_canSpend', { agent: editor.id, amount: 1000 })).toMatchObject({
      allowed: true,
    });
    expect(await editor.caller.ok('escrow_status', { org: editor.id })).toMatchObject({ budget: { available: 1000 } });
    expect(await editor.caller.ok('escrow_status', { org: admin.id })).toMatchObject({ budget: null });
    await editor.caller.fails('FORBIDDEN', 'escrow_hold', { holdId: 'x', condition: { amount: 1, agent: admin.id } });
    await operator.refused('E_BUDGET', 'escrow_hold', { holdId: newName('h'), condition: { amount: 2, agent: poor } });
    await editor.caller.ok('escrow_listWorkspacePools');
    await editor.caller.ok('escrow_getWorkspacePool', { workspaceId: own.workspace });
    await editor.caller.refused('E_POOL_EXCEEDED', 'escrow_workspaceRecordSpend', {
      workspaceId: own.workspace,
      amount: 1,
    });
    expect(await countRows(target.get())).toEqual(before);
  },
  { on: target, title: 'Refused draws, holds and questions about anybody leave no row.' },
);
