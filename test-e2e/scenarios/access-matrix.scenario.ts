/** Every tool, every kind of caller, own and foreign things: the answers are those of the written rules. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields, type Reply } from '../client.ts';
import type { AccessRule, Answer } from '../instruments/access-rule.ts';
import { ACCESS_RULES } from '../instruments/access-rules.ts';
import { callerOf, createTenant, type Tenant } from '../instruments/tenants.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

/** Answers by which an access rule shows itself, and the one that answers nothing. */
const ACCESS_CODES = ['UNAUTHORIZED', 'FORBIDDEN', 'RLS_DENIED', 'E_ISLAND_WRITE_DENIED', 'INTERNAL'];

interface Cell {
  readonly tool: string;
  readonly caller: string;
  readonly about: string;
  readonly wanted: Answer;
  readonly got: Answer;
}

verifies(
  ['access:matrix', 'access:unknown-like-forbidden'],
  async ({ keyed, report }) => {
    const own = await createTenant(keyed);
    const foreign = await createTenant(keyed);
    const tools = await toolNames(keyed);
    expect(tools.filter((tool) => ACCESS_RULES[tool] === undefined)).toEqual([]);
    const shut = await shutOut(keyed, own);
    const cells: Cell[] = [];
    for (const tool of tools) {
      const rule = ACCESS_RULES[tool];
      if (rule === undefined) continue;
      for (const about of [own, foreign]) {
        const name = about === own ? 'own' : 'foreign';
        // Whoever does not get in changes nothing for the others.
        const args = await rule.args(about, newName('x'));
        const refusals = [...shut].map(async ([caller, who]): Promise<Cell> => {
          const got = codeOf(await who.call(tool, args)) ?? 'served';
          return { tool, caller, about: name, wanted: 'UNAUTHORIZED', got };
        });
        cells.push(...(await Promise.all(refusals)));
        for (const [caller, tenant, role] of [
          ['foreign viewer', foreign, 'viewer'],
          ['own viewer', own, 'viewer'],
          ['own admin', own, 'admin'],
        ] as const) {
          const wanted = wantedAnswer(rule, tenant === about, role);
          const reply = await callerOf(keyed, tenant[role].token).call(tool, await rule.args(about, newName('x')));
          cells.push({ tool, caller, about: name, wanted, got: answerOf(reply, wanted) });
        }
      }
    }
    expect(cells.filter(({ wanted, got }) => wanted !== got)).toEqual([]);
    expect(await differences(keyed, own, foreign)).toEqual([]);
    report(`${cells.length} cells of the access matrix over ${tools.length} tools agree with the rules`);
  },
  { timeoutMs: 300_000 },
);

async function toolNames(place: TargetPlace): Promise<string[]> {
  const { body } = await new Caller(place).get('/tools');
  return (body as unknown as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

/** Callers who must not get in at all. */
async function shutOut(place: TargetPlace, { agent }: Tenant): Promise<Map<string, Caller>> {
  const operator = new Caller(place);
  const mint = async (ttlMs: number) =>
    String((await operator.ok('svc_habitat_mintToken', { agentId: agent, ttlMs })).token);
  const expired = await mint(1);
  const revoked = await mint(60_000);
  await operator.ok('svc_habitat_revokeToken', { tokenOrHash: revoked });
  await delay(5);
  return new Map([
    ['nobody', new Caller(place, { key: null })],
    ['wrong key', new Caller(place, { key: 'not-the-key-0123456789abcdef' })],
    ['expired token', callerOf(place, expired)],
    ['revoked token', callerOf(place, revoked)],
  ]);
}

function wantedAnswer(rule: AccessRule, isOwn: boolean, role: 'viewer' | 'admin'): Answer {
  if (isOwn) return rule[role];
  return role === 'admin' ? (rule.strangeAdmin ?? rule.stranger) : rule.stranger;
}

/** The code, if it is one of access or the wanted one; a field as `field:value` if such a one is wanted. */
function answerOf(reply: Reply, wanted: Answer): Answer {
  const code = codeOf(reply);
  if (code !== null && (code === wanted || ACCESS_CODES.includes(code))) return code;
  const [field, value] = wanted.split(':');
  if (value === undefined || field === undefined) return 'served';
  return `${field}:${String((reply.body.result?.content as Fields | undefined)?.[field])}`;
}

/** Tools that tell a stranger something else about a foreign thing than about one that does not exist. */
async function differences(place: TargetPlace, own: Tenant, foreign: Tenant): Promise<string[]> {
  const stranger = callerOf(place, own.admin.token);
  const found: string[] = [];
  for (const [tool, { args, unknown }] of Object.entries(ACCESS_RULES)) {
    if (unknown === undefined) continue;
    const fresh = newName('x');
    const [known, absent] = [await args(foreign, fresh), unknown(fresh)];
    const [forbidden, missing] = [await stranger.call(tool, known), await stranger.call(tool, absent)];
    if (blank(forbidden, known) !== blank(missing, absent)) found.push(`${tool}: ${forbidden.text} / ${missing.text}`);
  }
  return found;
}

/** The reply without what the caller itself said, and without its request id. */
function blank({ status, text }: Reply, args: Fields): string {
  const said = Object.values(args).flatMap((value) => (typeof value === 'string' ? [value] : []));
  const bare = said.reduce((rest, value) => rest.replaceAll(value, '…'), text);
  return `${status} ${bare.replace(/"requestId":"[^"]*"/, '')}`;
}
