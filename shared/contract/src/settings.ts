/**
 * Settings that change while the service runs: what there is, its type, what holds while nobody set it, who may change it.
 * They are kept by the registry of identities. An environment variable, when set, fixes a value.
 */
import { z } from 'zod';
import { SHELL_SETTINGS } from './settings.shell.ts';

/** What a reader goes by when the registry does not answer: what it knew last, or at once what holds while nobody set it. */
type WhenUnknown = 'last-known' | 'fallback';

export interface SettingDeclaration<
  Schema extends z.ZodType = z.ZodType,
  Fallback extends z.output<Schema> | null = z.output<Schema> | null,
> {
  readonly schema: Schema;
  /** What holds while nobody set it. Null = `otherwise` says in words what the reader goes by. */
  readonly fallback: Fallback;
  readonly otherwise?: string;
  /** The service that reads it. */
  readonly service: string;
  readonly meaning: string;
  readonly mayChange: 'operator';
  readonly whenUnknown: WhenUnknown;
  /** The environment variable that fixes it; null = none can. */
  readonly variable: `SVC_${string}` | null;
}

function setting<Schema extends z.ZodType, Fallback extends z.output<Schema> | null>(
  schema: Schema,
  rest: Omit<SettingDeclaration<Schema, Fallback>, 'schema' | 'mayChange' | 'whenUnknown'> & {
    whenUnknown?: WhenUnknown;
  },
): SettingDeclaration<Schema, Fallback> {
  return { schema, mayChange: 'operator', whenUnknown: 'last-known', ...rest };
}

const count = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Profiles that are part of the product. */
export const BUILT_IN_PROFILES = [
  'core',
  'full',
  'gateway',
  'brain',
  'habitat',
  'escrow',
  'agora',
  'market',
  'universe',
] as const;

/** Where an endpoint is asked: without credentials, which are secrets of the environment. */
const EndpointUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .max(500)
  .refine((address) => !/^[a-z]+:\/\/[^/]*@/i.test(address), 'must not hold a user or a password')
  .refine((address) => !/[?#]/.test(address), 'must not hold a query or a fragment');
const ModelName = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be the name of a model');

const HostEntry = z
  .string()
  .max(260)
  .regex(
    /^((\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:\d{1,5})?$/i,
    'must be a host, *.host or an address, with or without :port',
  );
const Endpoint = z
  .string()
  .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]):\d{1,5}$/i, 'must be ip:port, with [..] around IPv6');

const ToolPattern = z
  .string()
  .regex(/^[A-Za-z0-9_*]{1,100}$/, 'must be the name of a tool, or one with * for any part');

export const SETTINGS = {
  'agora.requireRegistry': setting(z.boolean(), {
    fallback: false,
    service: 'agora',
    meaning: 'Only identities that the registry knows may vote.',
    variable: 'SVC_AGORA_REQUIRE_REGISTRY',
  }),
  'chat.model': setting(ModelName, {
    fallback: null,
    otherwise: 'none is asked',
    service: 'brain',
    meaning: 'Model that `chat.url` is asked for; the searches hyde and multiquery let it write passages and queries.',
    variable: 'SVC_CHAT_MODEL',
  }),
  'chat.url': setting(EndpointUrl, {
    fallback: null,
    otherwise: 'none is asked',
    service: 'brain',
    meaning:
      'Address of an endpoint in the form of OpenAI, up to and without `/chat/completions`. Queries leave the node.',
    variable: 'SVC_CHAT_URL',
  }),
  'compute.enabled': setting(z.boolean(), {
    fallback: false,
    service: 'universe',
    meaning: 'Code of callers is run, while the probe of its sandbox finds no way out.',
    variable: 'SVC_COMPUTE_ENABLED',
    whenUnknown: 'fallback',
  }),
  'embed.model': setting(ModelName, {
    fallback: null,
    otherwise: 'the built-in embedder',
    service: 'brain',
    meaning: 'Model that `embed.url` is asked for; another name makes all vectors anew.',
    variable: 'SVC_EMBED_MODEL',
  }),
  'embed.url': setting(EndpointUrl, {
    fallback: null,
    otherwise: 'the built-in embedder',
    service: 'brain',
    meaning:
      'Address of an endpoint in the form of OpenAI, up to and without `/embeddings`. Texts and queries leave the node.',
    variable: 'SVC_EMBED_URL',
  }),
  'escrow.defaultBudget': setting(count(0, 1_000_000_000), {
    fallback: 1000,
    service: 'escrow',
    meaning: 'Budget in credits of an identity that is given none; an account that is there keeps what it opened with.',
    variable: 'SVC_ESCROW_DEFAULT_BUDGET',
  }),
  'escrow.runawayPerMinute': setting(count(0, 1_000_000), {
    fallback: 0,
    service: 'escrow',
    meaning: 'Draws that one member may make from a pool within a minute; 0 = any number.',
    variable: 'SVC_ESCROW_DRAWS_PER_MINUTE',
  }),
  'gateway.logCalls': setting(z.boolean(), {
    fallback: false,
    service: 'gateway',
    meaning: 'A line in the log for each call that a gateway answers: who, which tool, the code, how long.',
    variable: 'SVC_LOG_CALLS',
  }),
  'habitat.maxAgents': setting(count(1, 100_000), {
    fallback: 200,
    service: 'habitat',
    meaning: 'Live agents of one workspace.',
    variable: 'SVC_HABITAT_MAX_AGENTS',
  }),
  'market.requireConsent': setting(z.boolean(), {
    fallback: false,
    service: 'market',
    meaning: 'Whoever offers or buys has to say that they consent; else silence is consent.',
    variable: 'SVC_MARKET_REQUIRE_CONSENT',
  }),
  'market.skillsEnabled': setting(z.boolean(), {
    fallback: false,
    service: 'market',
    meaning: 'Skills may be listed and bought.',
    variable: 'SVC_MARKET_SKILLS_ENABLED',
    whenUnknown: 'fallback',
  }),
  'market.skillsTradeTtlMs': setting(count(1000, 30 * DAY_MS), {
    fallback: 3 * DAY_MS,
    service: 'market',
    meaning: 'How long the seller of a skill has to deliver, and then the buyer to settle, in ms.',
    variable: 'SVC_MARKET_SKILLS_TRADE_TTL_MS',
  }),
  'market.skillsUnsettled': setting(z.enum(['confirm', 'refute']), {
    fallback: 'confirm',
    service: 'market',
    meaning: 'What a buyer decides who lets the time after a delivery pass.',
    variable: 'SVC_MARKET_SKILLS_UNSETTLED',
  }),
  'market.tradeWindowMs': setting(count(1000, DAY_MS), {
    fallback: 300_000,
    service: 'market',
    meaning: 'How long a trade waits for the buyer before it completes by itself, in ms.',
    variable: 'SVC_MARKET_TRADE_WINDOW_MS',
  }),
  'mcp.requireKey': setting(z.boolean(), {
    fallback: null,
    otherwise: 'on with an API key, else off',
    service: 'gateway',
    meaning: 'The doors /mcp and /mcp/exec turn away whoever presents no credential.',
    variable: 'SVC_MCP_REQUIRE_KEY',
  }),
  'network.allow': setting(z.array(HostEntry).max(1000), {
    fallback: [],
    service: 'universe',
    meaning: 'Hosts that may be fetched from: `host` or `*.host`, for ports other than 80 and 443 with `:port`.',
    variable: null,
    whenUnknown: 'fallback',
  }),
  'network.allowPrivate': setting(z.array(Endpoint).max(1000), {
    fallback: [],
    service: 'universe',
    meaning: 'Addresses that are not public and may be reached all the same, each as `ip:port`; for test rigs.',
    variable: null,
    whenUnknown: 'fallback',
  }),
  'network.enabled': setting(z.boolean(), {
    fallback: false,
    service: 'universe',
    meaning: 'Callers may fetch from the hosts of `network.allow`.',
    variable: 'SVC_NETWORK_ENABLED',
    whenUnknown: 'fallback',
  }),
  'profiles.*': setting(z.array(ToolPattern).min(1).max(400), {
    fallback: null,
    otherwise: 'no such profile',
    service: 'gateway',
    meaning: 'A profile: the names of its tools, with `*` for any part of a name.',
    variable: null,
  }),
  'search.weights': setting(z.number().min(0).max(10), {
    fallback: 1,
    service: 'brain',
    meaning: 'What nearness of meaning weighs beside words in `hybrid`, where an endpoint makes the vectors.',
    variable: 'SVC_SEARCH_WEIGHTS',
  }),
  ...SHELL_SETTINGS,
  'sudo.ttlMs': setting(count(1000, HOUR_MS), {
    fallback: 600_000,
    service: 'habitat',
    meaning: 'How long a granted scope lasts, in ms.',
    variable: 'SVC_SUDO_TTL_MS',
  }),
} as const satisfies Record<string, SettingDeclaration>;

/** A key of the table; one that ends in `.*` stands for any last segment. */
export type DeclaredKey = keyof typeof SETTINGS;
/** A setting with one value. */
export type SettingKey = Exclude<DeclaredKey, `${string}.*`>;
/** The part before the last segment of settings that there can be any number of. */
export type SettingGroup = DeclaredKey extends infer Key ? (Key extends `${infer Group}.*` ? Group : never) : never;
export type SettingValue<Key extends DeclaredKey> = z.output<(typeof SETTINGS)[Key]['schema']>;
/** What a reader of a setting gets: null only where the table has no value of its own. */
export type EffectiveValue<Key extends DeclaredKey> =
  | SettingValue<Key>
  | (null extends (typeof SETTINGS)[Key]['fallback'] ? null : never);

export const MAX_KEY_LENGTH = 128;
export const MAX_VALUE_BYTES = 16 * 1024;
/** So many values are kept at once. */
export const MAX_SETTINGS = 300;

const KEY = /^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9-]+){0,7}$/;
const FORBIDDEN_SEGMENTS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const SECRET_SEGMENTS: ReadonlySet<string> = new Set(['key', 'token', 'secret', 'password']);

/** Whether a text can be the key of a setting at all, declared or not. */
export function isSettingKey(text: string): boolean {
  return (
    text.length <= MAX_KEY_LENGTH && KEY.test(text) && !text.split('.').some((part) => FORBIDDEN_SEGMENTS.has(part))
  );
}

/** Whether what stands under the key is never shown and never kept here. */
export function isSecretSetting(key: string): boolean {
  return declaredKey(key) === null && SECRET_SEGMENTS.has(lastSegment(key).toLowerCase());
}

function lastSegment(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1);
}

const BUILT_IN: ReadonlySet<string> = new Set(BUILT_IN_PROFILES.map((name) => `profiles.${name}`));

/** Under which key of the table it is declared, or null. A built-in profile is no setting. */
export function declaredKey(key: string): DeclaredKey | null {
  if (!isSettingKey(key) || BUILT_IN.has(key)) return null;
  if (Object.hasOwn(SETTINGS, key)) return key as SettingKey;
  const any = `${key.slice(0, Math.max(0, key.lastIndexOf('.')))}.*`;
  return Object.hasOwn(SETTINGS, any) ? (any as DeclaredKey) : null;
}

/** Kept for settings of the node, declared or not: no file of a brain says anything under them. */
const RESERVED: ReadonlySet<string> = new Set([
  ...Object.keys(SETTINGS).map((key) => key.slice(0, key.indexOf('.'))),
  'compute',
  'limits',
  'network',
  'shell',
  'sync',
]);

/** Whether the key can only be one of the node. */
export function isReservedSetting(key: string): boolean {
  const [first = ''] = key.split('.', 1);
  return RESERVED.has(first);
}

interface SettingVariable {
  readonly key: SettingKey;
  readonly variable: string;
}

/** The variables that fix a setting. */
export function settingVariables(): SettingVariable[] {
  return Object.entries(SETTINGS).flatMap(([key, { variable }]) =>
    variable === null ? [] : [{ key: key as SettingKey, variable }],
  );
}

const SWITCHES: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  on: true,
  off: false,
  1: true,
  0: false,
};
const DECIMAL = /^-?\d{1,15}(\.\d{1,9})?$/;

/**
 * A value as its declaration wants it; texts of a switch or a number are taken for what they say. `problem` = why it does
 * not fit.
 */
export function settingValue(
  key: DeclaredKey,
  given: unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string } {
  const { schema } = SETTINGS[key];
  const readings = [given];
  if (typeof given === 'string') {
    if (Object.hasOwn(SWITCHES, given)) readings.push(SWITCHES[given]);
    if (DECIMAL.test(given)) readings.push(Number(given));
  }
  for (const reading of readings) {
    const parsed = schema.safeParse(reading);
    if (parsed.success) return { ok: true, value: parsed.data };
  }
  const problem = schema.safeParse(given).error?.issues.map(({ message }) => message);
  return { ok: false, problem: problem?.join('; ') ?? 'does not fit' };
}

/** Where the value in effect comes from. */
export const SettingSource = z.enum(['environment', 'node', 'default']);
export type SettingSource = z.output<typeof SettingSource>;

/** A value in effect: null = nobody set it and the table has none. */
export interface InEffect {
  readonly value: unknown;
  readonly source: SettingSource;
}

/** The environment goes before what is stored; what is stored and fits no more counts as not set. */
export function inEffect(key: DeclaredKey, { fixed, stored }: { fixed?: unknown; stored?: unknown }): InEffect {
  if (fixed !== undefined) return { value: fixed, source: 'environment' };
  if (stored !== undefined && stored !== null) {
    const kept = settingValue(key, stored);
    if (kept.ok) return { value: kept.value, source: 'node' };
  }
  return { value: SETTINGS[key].fallback, source: 'default' };
}
