import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { decide, DEFAULT_POLICY, evaluate, keysOf, type Policy, type PolicyMode } from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { embeddedDatabase } from '@svc/testing/database.ts';
import { policyPredicate } from './policy-predicate.ts';

type Fields = Record<string, unknown>;

const TRIPLES = 100_000;
const BATCH = 5000;
const SEED = 20_261_121;

/** Few values, so that they meet; some that a careless comparison would take for one another. */
const WORKSPACES = ['default', 'acme', 'Acme', 'beta', 'publicc'];
const VALUES = ['u1', 'u1:x', 'U1', '*', '%', 'a b', 'viewer', 'admin', "o'r", 'ä', '{public}', 'null'];
const KINDS = ['container', 'role', 'user', 'team', 'brain'] as const;
const NAMES = ['name', 'email', '_id', 'owner', 'api_key', 'a.b', 'b', 'toString'];

interface Triple {
  /** null = none is attached. */
  readonly policy: Policy | null;
  readonly subject: Subject;
  readonly mode: PolicyMode;
  readonly row: Fields;
}

function randomFrom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (limit: number) => Math.floor(next() * limit);
  return {
    upTo,
    chance: (part: number) => next() < part,
    of: <Item>(items: readonly Item[]): Item => items[upTo(items.length)] as Item,
    some: <Item>(limit: number, make: () => Item): Item[] => Array.from({ length: upTo(limit + 1) }, make),
  };
}

type Random = ReturnType<typeof randomFrom>;

function ruleFrom(random: Random): string {
  if (random.chance(0.1)) return 'public';
  const kind = random.of(KINDS);
  return `${kind}:${random.of(kind === 'container' ? WORKSPACES : VALUES)}`;
}

function tripleFrom(random: Random): Triple {
  const rules = () => random.some(4, () => ruleFrom(random));
  const names = () => random.some(3, () => random.of([...NAMES, 'owner.email', 'owner.x.y', 'missing']));
  const policy: Policy = {
    readableBy: rules(),
    writableBy: rules(),
    container: random.chance(0.2) ? 'public' : random.of(WORKSPACES),
    filter: random.chance(0.3) ? random.of(['private', 'secrets', 'nested', 'strange']) : names(),
    mask: random.chance(0.3) ? random.of(['secrets', 'email', 'all']) : names(),
  };
  const subject: Subject = {
    ...(random.chance(0.8) ? { workspace: random.of(WORKSPACES) } : {}),
    ...(random.chance(0.5) ? { userId: random.of(VALUES) } : {}),
    ...(random.chance(0.6) ? { roles: random.some(3, () => random.of(VALUES)) } : {}),
    ...(random.chance(0.3) ? { team: random.of(VALUES) } : {}),
    ...(random.chance(0.3) ? { brain: 'u1' } : {}),
    ...(random.chance(0.1) ? { unknownWorkspace: true as const } : {}),
  };
  const value = (): unknown =>
    random.of<unknown>([1, 'x', 'a@b.c', null, true, ['z'], { email: 'p@q.r', x: { y: 1 } }]);
  const row = Object.fromEntries(random.some(5, () => [random.of(NAMES), value()] as const));
  return { policy: random.chance(0.1) ? null : policy, subject, mode: random.of(['read', 'write'] as const), row };
}

function only(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

/** The rules once more, as a reader of them would write them down: kind and value compared one by one. */
function plainlyAllowed({ policy, subject, mode }: Triple): boolean {
  const { container, readableBy, writableBy } = policy ?? DEFAULT_POLICY;
  const { workspace, roles = [], userId, team, brain, unknownWorkspace = false } = subject;
  if (container !== 'public' && workspace !== undefined && workspace !== container) return false;
  const rules = mode === 'read' ? readableBy : writableBy;
  const held = { container: only(workspace), role: roles, user: only(userId), team: only(team), brain: only(brain) };
  return (
    rules.length === 0 ||
    rules.includes('public') ||
    (!unknownWorkspace && KINDS.some((kind) => held[kind].some((value) => rules.includes(`${kind}:${value}`))))
  );
}

const SECRET = /password|secret|token|key|authorization|cookie/i;
const PLAIN_TESTS: Readonly<Record<string, (name: string, value: unknown) => boolean>> = {
  all: () => true,
  private: (name) => name.startsWith('_'),
  secrets: (name) => SECRET.test(name),
  nested: (_name, value) => typeof value === 'object' && value !== null,
  email: (_name, value) => typeof value === 'string' && value.includes('@'),
};

/** What is left of the row; undefined = nothing may be shown. */
function plainlyShown({ policy, row }: Triple): Fields | undefined {
  const { filter, mask } = policy ?? DEFAULT_POLICY;
  if (filter === 'strange') return undefined;
  const copy = structuredClone(row);
  const apply = (names: readonly string[] | string, hide: (at: Fields, name: string) => void) => {
    if (typeof names !== 'string') {
      for (const name of names) walk(copy, name, hide);
      return;
    }
    const matches = PLAIN_TESTS[names];
    for (const [name, value] of Object.entries(copy)) if (matches?.(name, value) === true) hide(copy, name);
  };
  apply(filter, (at, name) => void delete at[name]);
  apply(mask, (at, name) => void (at[name] = '[masked]'));
  return copy;
}

function walk(at: Fields, path: string, hide: (at: Fields, name: string) => void): void {
  if (Object.hasOwn(at, path)) {
    hide(at, path);
    return;
  }
  const [head = '', ...rest] = path.split('.');
  const inner = Object.hasOwn(at, head) ? at[head] : undefined;
  if (rest.length > 0 && typeof inner === 'object' && inner !== null && !Array.isArray(inner))
    walk(inner as Fields, rest.join('.'), hide);
}

const MORE_KEYS: readonly Subject[] = [{ userId: 'u1' }, { roles: ['admin'] }, { team: 'viewer' }, { brain: 'u1' }];

/** The subject with one key more than it has. */
function richer(subject: Subject, more: Subject): Subject {
  const roles = [...(subject.roles ?? []), ...(more.roles ?? [])];
  return { ...more, ...subject, roles };
}

async function allowedBySql(sql: (rows: string) => Promise<{ i: number }[]>, triples: readonly Triple[]) {
  const rows = triples.map(({ policy, subject, mode }, i) => ({
    i,
    container: policy?.container ?? null,
    rules: policy === null ? null : mode === 'read' ? policy.readableBy : policy.writableBy,
    keys: [...keysOf(subject)],
    workspace: subject.workspace ?? null,
    mode,
  }));
  return new Set((await sql(JSON.stringify(rows))).map(({ i }) => i));
}

/** `admitted`: what the SQL says. */
function agree(triple: Triple, admitted: boolean): boolean {
  const { subject, mode, row } = triple;
  const policy = triple.policy ?? DEFAULT_POLICY;
  const says = decide(policy, subject, mode).allowed;
  const plain = plainlyAllowed(triple);
  if (says !== plain || says !== admitted) return false;
  if (says && MORE_KEYS.some((more) => !decide(policy, richer(subject, more), mode).allowed)) return false;
  const seen = evaluate(policy, subject, mode, row);
  const expected = plain ? plainlyShown(triple) : undefined;
  return isDeepStrictEqual(seen.allowed ? seen.data : undefined, expected);
}

test('on 100,000 triples the evaluator, the SQL predicate and the plain rules say the same', async () => {
  await using database = await embeddedDatabase();
  const client = poolClient(database.pool);
  const parts = { container: 't.container', rules: 't.rules', keys: 't.keys', workspace: 't.workspace' };
  const sql = (rows: string) =>
    client.$queryRawUnsafe<{ i: number }[]>(
      `SELECT i FROM json_to_recordset($1::json)
         AS t(i int, container text, rules text[], keys text[], workspace text, mode text)
       WHERE CASE mode WHEN 'read' THEN ${policyPredicate(parts, 'readableBy')}
         ELSE ${policyPredicate(parts, 'writableBy')} END`,
      rows,
    );
  const random = randomFrom(SEED);
  const disagreements: Triple[] = [];
  let allowed = 0;
  let changed = 0;
  for (let done = 0; done < TRIPLES; done += BATCH) {
    const triples = Array.from({ length: BATCH }, () => tripleFrom(random));
    const admitted = await allowedBySql(sql, triples);
    allowed += admitted.size;
    for (const [index, triple] of triples.entries()) {
      if (!agree(triple, admitted.has(index))) disagreements.push(triple);
      if (admitted.has(index) && !isDeepStrictEqual(plainlyShown(triple), triple.row)) changed += 1;
    }
  }
  expect(disagreements.slice(0, 3)).toEqual([]);
  expect(allowed).toBeGreaterThan(TRIPLES / 5);
  expect(allowed).toBeLessThan((TRIPLES * 4) / 5);
  expect(changed).toBeGreaterThan(TRIPLES / 20);
}, 120_000);
