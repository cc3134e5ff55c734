/** Endless seeded requests that are wrong in some way, or right in form and hostile in content. */
import type { Fields } from '../client.ts';
import type { Random } from './random.ts';

export interface Shot {
  readonly path: string;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface KnownTool {
  readonly name: string;
  readonly inputSchema: { readonly properties: Fields };
}

/** Words that have broken something somewhere. */
export const NASTY: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../x',
  '/etc/passwd',
  '.git/config',
  '.GIT/hooks/x',
  '-',
  '--',
  '-v',
  '--upload-pack=touch canary',
  '--output=/tmp/svc-canary',
  '-oProxyCommand=touch canary',
  'ext::sh -c touch% canary',
  '--exec-path=.',
  'HEAD',
  '@{-1}',
  'main..',
  '^main',
  ':(glob)**',
  'refs/heads/main',
  'a.lock',
  'CON',
  'NUL.txt',
  'a\u0000b',
  '\u202e',
  '\ud800',
  '\ufeff',
  'é'.repeat(50),
  '𝕏'.repeat(40),
  'x'.repeat(101),
  'x'.repeat(5000),
  '$(touch canary)',
  '`touch canary`',
  '; touch canary',
  "' OR 1=1 --",
  '"; DROP TABLE brain_files; --',
  '{{7*7}}',
  '<script>',
  '%2e%2e%2f',
  '%00',
  '\r\nSet-Cookie: a=b',
  '1e309',
  '-0',
  'NaN',
  'undefined',
  '__proto__',
  'constructor',
  'main',
  'x.md',
  'islands/x',
  'a/b/c',
  'svc',
  '(a+)+$',
  '\\',
  '*',
  '?',
  '~',
  '#',
  '0',
  'true',
  'null',
  '[]',
  '{}',
];
export const NUMBERS = [0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 1000, 1001];
const DOORS = ['/call', '/call', '/call', '/mcp/exec'];

export function* garbage(tools: readonly KnownTool[], brain: string, random: Random): Generator<Shot, never> {
  // Left out: a commit, a lock and whatever creates a repository for each hit would only slow the run down.
  const targets = tools.filter(
    ({ name }) => name !== 'brain_stack' && !/^svc_(?:sync|brain_(?:backup|restore))/.test(name),
  );
  for (;;) {
    const kind = random.int(0, 10);
    if (kind < 2) yield brokenText(random);
    else if (kind < 4) yield shot(random, envelope(random, random.pick(targets).name, value(random, 0)));
    else
      yield shot(random, {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: '', ...call(random, random.pick(targets), brain) },
      });
  }
}

/** Calls that would be right but for a field or two: they come further than what is wrong altogether. */
export function* nearlyRight(calls: readonly RightCall[], random: Random): Generator<Shot, never> {
  for (;;) {
    const { name, args } = random.pick(calls);
    const broken: Fields = { ...args };
    for (let count = random.int(1, 3); count > 0; count -= 1) {
      const field = random.next() < 0.9 ? random.pick(Object.keys(args)) : random.pick(NASTY);
      if (random.next() < 0.1) delete broken[field];
      else broken[field] = random.next() < 0.6 ? random.pick(NASTY) : value(random, 0);
    }
    yield shot(random, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: broken } });
  }
}

/** One of each, over and over, so that none is left out. */
export function* inTurn(all: readonly Iterator<Shot, never>[]): Generator<Shot, never> {
  for (;;) for (const shots of all) yield shots.next().value;
}

export interface RightCall {
  readonly name: string;
  readonly args: Fields;
}

function shot(random: Random, body: unknown): Shot {
  return { path: random.pick(DOORS), body: JSON.stringify(body) ?? 'undefined', headers: oddHeaders(random) };
}

function brokenText(random: Random): Shot {
  const whole = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'brain_read', arguments: { name: random.pick(NASTY) } },
  });
  const cut = whole.slice(0, random.int(0, whole.length));
  const noise = Buffer.from(Array.from({ length: random.int(0, 200) }, () => random.int(0, 256)));
  const flipped = Buffer.from(whole);
  flipped[random.int(0, flipped.length)] = random.int(0, 256);
  const deep = '['.repeat(random.int(1, 3000));
  return {
    path: random.pick(DOORS),
    body: random.pick<string | Buffer>([cut, noise, flipped, deep, `${whole}${whole}`, `\ufeff${whole}`]),
    headers: oddHeaders(random),
  };
}

/** A member of the envelope replaced, removed, doubled or moved. */
function envelope(random: Random, name: string, args: unknown): unknown {
  const body: Fields = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const key = random.pick(['jsonrpc', 'id', 'method', 'params', 'extra']);
  switch (random.int(0, 5)) {
    case 0:
      return { ...body, [key]: value(random, 0) };
    case 1: {
      const { [key]: _gone, ...rest } = body;
      return rest;
    }
    case 2:
      return [body, body];
    case 3:
      return { ...body, params: { name: value(random, 2), arguments: args, [random.pick(NASTY)]: value(random, 0) } };
    default:
      return value(random, 0);
  }
}

/** Known parameters with wrong or hostile values, sometimes an unknown one; always on the garbage brain when it can be said. */
function call(random: Random, { name, inputSchema: { properties } }: KnownTool, brain: string): Fields {
  const args: Fields = {};
  for (const parameter of Object.keys(properties)) {
    if (random.next() < 0.6) args[parameter] = random.next() < 0.7 ? random.pick(NASTY) : value(random, 0);
  }
  if ('brain' in properties && random.next() < 0.9) args['brain'] = brain;
  if ('create' in properties) delete args['create'];
  if (random.next() < 0.1) args[random.pick(NASTY)] = value(random, 0);
  return { name, [random.pick(['arguments', 'arguments', 'args'])]: args };
}

function value(random: Random, depth: number): unknown {
  switch (random.int(0, depth > 3 ? 5 : 8)) {
    case 0:
    case 1:
      return random.pick(NASTY);
    case 2:
      return random.pick(NUMBERS);
    case 3:
      return random.next() < 0.5;
    case 4:
      return null;
    case 5:
      return Array.from({ length: random.int(0, 6) }, () => value(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.int(0, 5) }, () => [random.pick(NASTY), value(random, depth + 1)]),
      );
  }
}

/** Only what a header may hold; the transport refuses the rest itself. */
function oddHeaders(random: Random): Record<string, string> {
  const printable = random
    .pick(NASTY)
    .replaceAll(/[^\x20-\x7e]/g, '')
    .slice(0, 300);
  switch (random.int(0, 12)) {
    case 0:
      return { 'x-svc-session': printable };
    case 1:
      return { 'x-request-id': printable };
    case 2:
      return { 'idempotency-key': printable };
    case 3:
      return { 'x-svc-timeout-ms': random.pick(['-1', 'abc', '1e309', 'NaN', '99999999999', '']) };
    case 4:
      return { traceparent: printable };
    case 5:
      return { 'x-svc-agent': printable };
    case 6:
      return {
        'content-type': random.pick(['text/plain', 'application/jsonx', 'application/json; charset=utf-16', '']),
      };
    default:
      return {};
  }
}
