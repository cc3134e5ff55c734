/** What a task or an agent may be given for a while. */

export type Authority = 'operator' | 'workspace:admin' | 'sudo';

interface ScopeRule {
  readonly level: number;
  readonly capability: string;
  /** Who gets it for a task of their own without being granted it; null = nobody. */
  readonly atOnce: 'identified' | 'editor' | null;
  readonly grantedBy: readonly Authority[];
  /** Whether a part of it can be given, such as one host of the network. */
  readonly divisible: boolean;
}

const EVERYONE: readonly Authority[] = ['operator', 'workspace:admin', 'sudo'];
const OPERATOR: readonly Authority[] = ['operator'];

export const SCOPES = {
  read: { level: 1, capability: 'canRead', atOnce: 'identified', grantedBy: EVERYONE, divisible: true },
  write: { level: 3, capability: 'canWrite', atOnce: 'editor', grantedBy: EVERYONE, divisible: true },
  network: { level: 5, capability: 'canNetwork', atOnce: null, grantedBy: EVERYONE, divisible: true },
  exec: { level: 6, capability: 'canExec', atOnce: null, grantedBy: OPERATOR, divisible: true },
  spawn: { level: 7, capability: 'canSpawn', atOnce: null, grantedBy: EVERYONE, divisible: true },
  sudo: { level: 8, capability: 'canSudo', atOnce: null, grantedBy: OPERATOR, divisible: false },
  /** Implies all the others. */
  admin: { level: 10, capability: 'canAdmin', atOnce: null, grantedBy: OPERATOR, divisible: false },
} as const satisfies Record<string, ScopeRule>;

type ScopeName = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as readonly ScopeName[];
export const MAX_LEVEL = 10;
/** What an editor has in its own tasks without being granted it. */
export const EDITORS_SCOPES = SCOPE_NAMES.filter((name) => SCOPES[name].atOnce === 'editor');

const NAMES: ReadonlyMap<string, ScopeName> = new Map([
  ...SCOPE_NAMES.flatMap((name): [string, ScopeName][] => [
    [name, name],
    [SCOPES[name].capability, name],
  ]),
  ['canExecute', 'exec'],
]);
const QUALIFIER = /^[A-Za-z0-9._:@/[\]-]{1,100}$/;

export interface Scope {
  readonly name: ScopeName;
  /** As it is stored and shown: `network`, `network:api.example.org`. */
  readonly text: string;
}

/** A scope, a capability that stands for one, or a part of either; null = there is none like that. */
export function parseScope(given: string): Scope | null {
  const colon = given.indexOf(':');
  const name = NAMES.get(colon < 0 ? given : given.slice(0, colon));
  if (name === undefined) return null;
  if (colon < 0) return { name, text: name };
  const qualifier = given.slice(colon + 1);
  if (!SCOPES[name].divisible || !QUALIFIER.test(qualifier)) return null;
  return { name, text: `${name}:${qualifier}` };
}

/** The highest scope whose level is not above `level`. */
export function scopeOfLevel(level: number): Scope | null {
  const name = SCOPE_NAMES.findLast((candidate) => SCOPES[candidate].level <= level);
  return name === undefined || level > MAX_LEVEL ? null : { name, text: name };
}

/** A part is covered by the whole, never the other way round. */
export function covers(held: string, { name, text }: Scope): boolean {
  return held === text || held === name || held === 'admin';
}

/** The level of the highest of these; 0 = none. */
export function levelOf(held: readonly string[]): number {
  return Math.max(0, ...held.map((text) => SCOPES[parseScope(text)?.name ?? 'read'].level));
}
