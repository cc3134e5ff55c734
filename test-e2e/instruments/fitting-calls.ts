/** Calls of every tool that its declaration lets through: what is asked for is odd, how it is asked for is right. */
import type { Fields } from '../client.ts';
import type { AccessRule } from './access-rule.ts';
import { NASTY, NUMBERS, type Shot } from './garbage.ts';
import type { Random } from './random.ts';
import type { Tenant } from './tenants.ts';

/** What of JSON Schema the declarations use. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export interface DeclaredTool {
  readonly name: string;
  readonly inputSchema: Schema;
}

interface Ground {
  readonly random: Random;
  /** What there is: names and ids that a call may be about. */
  readonly words: readonly string[];
}

const DEPTH = 3;
const ATTEMPTS = 6;

type Maker = (schema: Schema, ground: Ground, depth: number) => unknown;

const OF_TYPE: Readonly<Record<string, Maker>> = {
  string: text,
  integer: figure,
  number: figure,
  boolean: (_schema, { random }) => random.next() < 0.5,
  null: () => null,
  array: list,
  object: members,
};

/** A value that the schema takes, as far as can be told from it. */
function fitting(schema: Schema, ground: Ground, depth = 0): unknown {
  const { random } = ground;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.anyOf !== undefined) return fitting(random.pick(schema.anyOf), ground, depth + 1);
  return (OF_TYPE[schema.type ?? 'any'] ?? anything)(schema, ground, depth);
}

function anything(_schema: Schema, { random }: Ground): unknown {
  return random.pick<unknown>([null, true, 0, random.pick(NASTY), {}, [], { a: [1, 'x'] }]);
}

function text({ pattern, minLength = 0, maxLength = Infinity }: Schema, { random, words }: Ground): string {
  const wanted = pattern === undefined ? null : new RegExp(pattern, 'u');
  for (let left = ATTEMPTS; left > 0; left -= 1) {
    const one = random.next() < 0.6 ? random.pick(words) : random.pick(NASTY);
    if (one.length >= minLength && one.length <= maxLength && (wanted === null || wanted.test(one))) return one;
  }
  return random.pick(words);
}

function figure({ type, minimum, maximum, exclusiveMinimum }: Schema, { random }: Ground): number {
  const ends = [minimum, maximum, exclusiveMinimum].filter((end) => end !== undefined);
  const near = ends.flatMap((end) => [end, end, end + 1, end - 1]);
  const one = random.pick([...near, 1, 2, 10, random.pick(NUMBERS)]);
  return type === 'integer' && random.next() < 0.9 ? Math.round(one) : one;
}

function list({ items = {}, minItems = 0, maxItems = 3 }: Schema, ground: Ground, depth: number): unknown[] {
  if (depth >= DEPTH) return [];
  const length = ground.random.int(minItems, Math.min(maxItems, minItems + 3) + 1);
  const found = Array.from({ length }, () => fitting(items, ground, depth + 1));
  return ground.random.next() < 0.2 ? [...found, ...found] : found;
}

function members({ properties = {} }: Schema, ground: Ground, depth: number): Fields {
  if (depth >= DEPTH) return {};
  const chosen = Object.entries(properties).filter(() => ground.random.next() < 0.5);
  return Object.fromEntries(chosen.map(([name, schema]) => [name, fitting(schema, ground, depth + 1)]));
}

/** Endless calls of all tools in turn; `right` has arguments for each that are about something of the tenant. */
export function* fittingCalls(
  tools: readonly DeclaredTool[],
  right: ReadonlyMap<string, readonly Fields[]>,
  ground: Ground,
): Generator<Shot, never> {
  const { random } = ground;
  for (;;)
    for (const { name, inputSchema } of tools) {
      const base = random.next() < 0.8 ? random.pick(right.get(name) ?? [{}]) : {};
      const more = Object.entries(inputSchema.properties ?? {}).filter(
        ([field]) => random.next() < (field in base ? 0.2 : 0.35),
      );
      const odd = more.map(([field, schema]) => [field, fitting(schema, ground)] as const);
      const params = { name, arguments: { ...base, ...Object.fromEntries(odd) } };
      yield {
        path: '/call',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
        headers: {},
      };
    }
}

/** What `fittingCalls` starts from: arguments that are right for one of these tenants. */
export async function rightArguments(
  tools: readonly DeclaredTool[],
  rules: Readonly<Record<string, AccessRule>>,
  tenants: readonly Tenant[],
): Promise<Map<string, readonly Fields[]>> {
  const right = new Map<string, readonly Fields[]>();
  for (const { name } of tools) {
    const rule = rules[name];
    if (rule === undefined) continue;
    const each = tenants.map(async (tenant, number) => rule.args(tenant, `f${number}`));
    right.set(name, await Promise.all(each));
  }
  return right;
}

/** Names and ids of what tenants have. */
export function wordsOf(tenants: readonly Tenant[]): string[] {
  return tenants.flatMap((tenant) => [
    ...Object.values(tenant).filter((value) => typeof value === 'string'),
    tenant.admin.id,
    tenant.viewer.id,
    `ws:${tenant.workspace}:ops`,
    `agent:${tenant.agent}`,
    `team:${tenant.team}`,
  ]);
}
