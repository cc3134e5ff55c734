/** Configuration: the settings of the node, and the keys of a brain's own, which travel with it in its `config.json`. */
import { z } from 'zod';
import { actorName } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { BrainName } from '@svc/contract/names.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
import { brainAndBranch, leaseGuard } from '@svc/contract/params.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import {
  type DeclaredKey,
  declaredKey,
  type InEffect,
  isSecretSetting,
  isSettingKey,
  MAX_KEY_LENGTH,
  MAX_VALUE_BYTES,
  SETTINGS,
  settingValue,
} from '@svc/contract/settings.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import type { Caller, ToolContext } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { type BrainDeps, defineTool } from '../../deps.ts';
import {
  type CallContext,
  CHANGE_RAISES,
  readableBrains,
  resolveTarget,
  resolveWrite,
  settled,
} from '../../tools/target.ts';
import { type BrainKey, isBrainKey } from '../domain/brain-keys.ts';
import { setBrainKey } from '../operations.ts';
import { keysInEffect } from '../keys-in-effect.ts';

const AREA = 'config';
const Key = z
  .string()
  .min(1)
  .max(MAX_KEY_LENGTH)
  .describe('Such as mcp.requireKey; docs/config.md lists those of the node.');
const Source = z
  .enum(['flag', 'node', 'brain', 'global', 'default'])
  .describe(
    'flag = the environment, node = set for the node, brain = the config.json of the brain, global = that of the default brain.',
  );
const SOURCES = { environment: 'flag', node: 'node', default: 'default' } as const;

const one = z.strictObject({
  key: z.string(),
  value: z.json().describe('Null = nobody set it, and it has no default.'),
  source: Source.nullable().describe('Null = nobody set such a key.'),
  brain: BrainName,
  masked: z.boolean().describe('It is a secret that somebody wrote into the file.'),
});
const all = z.strictObject({ config: z.record(z.string(), z.json()), brain: BrainName });

const configGet = defineTool({
  name: 'svc_config_get',
  area: AREA,
  description:
    'Shows a setting or a key of the brain that is in effect and where its value comes from, or all of them.',
  input: z.strictObject({ key: Key.optional(), brain: brainAndBranch.brain }),
  output: z.union([one, all]),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: ['BRAIN_LOAD_FAIL', 'UNAUTHORIZED'],
  example: { key: 'habitat.maxAgents' },
  async handler({ key, brain: wanted }, context) {
    const { deps, caller } = context;
    if (key !== undefined && !isSettingKey(key)) {
      throw invalidArguments([{ path: 'key', message: 'is no key of a setting' }]);
    }
    const declared = key === undefined ? null : declaredKey(key);
    if (key !== undefined && declared !== null) {
      const brain = await brainFor(context, wanted);
      if (isNobody(caller)) throw context.fail('UNAUTHORIZED');
      const shown = await deps.settings.inspect(key, declared, await stampOf(deps, caller));
      return { key, ...shownValue(shown), brain, masked: false };
    }
    const target = await resolveTarget(context, { brain: wanted });
    const { brain } = target;
    const keys = await keysInEffect(context, target);
    if (key === undefined) return { config: { ...shownKeys(keys), ...(await allShown(deps, caller)) }, brain };
    const { value = null, source = null, masked = false } = keys.get(key) ?? {};
    return { key, value: jsonOf(value), source, brain, masked };
  },
});

const SET_REFUSES = [
  'E_CONFIG_FILE',
  'E_CONFIG_KEY',
  'E_CONFIG_SECRET',
  'E_CONFLICT',
  'E_LOCKED',
  'E_FENCED',
  'E_READ_ONLY',
  'E_BRAIN_DIVERTED',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
  'E_QUOTA',
] as const;

const setInput = z.strictObject({
  key: Key,
  value: z
    .json()
    .describe('Null unsets it. As the setting wants it; "true", "false" and decimal texts are understood.'),
  ...brainAndBranch,
  ...leaseGuard,
});
type SetWish = z.output<typeof setInput>;
type SetContext = ToolContext<BrainDeps, (typeof SET_REFUSES)[number], 'FORBIDDEN'>;

const configSet = defineTool({
  name: 'svc_config_set',
  area: AREA,
  description:
    'Sets a setting of the node, in effect everywhere from the next call on, or any other key in the config.json of the brain.',
  input: setInput,
  output: z.strictObject({
    key: z.string(),
    value: z.json().describe('Of a setting: in effect now. Of another key: what the brain says now.'),
    status: z.literal('set'),
    persisted: z.literal(true),
    changed: z.boolean().describe('Another value is in effect than before.'),
    brain: BrainName,
    source: Source.nullable().describe('Null = the brain has no such key now.'),
    shadowedBy: z.literal('flag').nullable().describe('flag = the environment fixes another value.'),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: SET_REFUSES,
  raises: [...CHANGE_RAISES, 'VAF_PATH_BLOCKED'],
  dress: { persisted: false },
  example: { key: 'notes.language', value: 'en' },
  async handler(wish, context) {
    const { key } = wish;
    if (isSecretSetting(key)) throw context.refuse('E_CONFIG_SECRET', { key });
    const declared = declaredKey(key);
    if (declared !== null) return setForNode(wish, declared, context);
    if (!isBrainKey(key)) throw context.refuse('E_CONFIG_KEY', { key, nearest: nearestNames(key, KEYS) });
    return setInBrain(wish, context);
  },
});

async function setForNode({ key, value, brain: wanted }: SetWish, declared: DeclaredKey, context: SetContext) {
  const { deps, caller, idempotency } = context;
  const brain = await brainFor(context, wanted);
  if (!caller.operator) throw context.fail('FORBIDDEN', `${key} is set by operators.`);
  const read = value === null ? null : settingValue(declared, value);
  if (read?.ok === false) throw invalidArguments([{ path: 'value', message: read.problem }]);
  const by = actorName(caller);
  const ask = { key, value, by, operator: true, idempotency };
  const { stamp: _stamp, replayed, shadowedBy, changed, ...now } = await deps.changeSetting(ask);
  if (replayed) context.markReplayed();
  const shadow = shadowedBy === null ? null : ('flag' as const);
  const done = { status: 'set' as const, persisted: true as const, changed };
  return { key, ...shownValue(now), ...done, brain, shadowedBy: shadow };
}

async function setInBrain({ key, value, ...wish }: SetWish, context: SetContext) {
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_VALUE_BYTES) {
    throw invalidArguments([{ path: 'value', message: 'must be at most 16 KiB as JSON' }]);
  }
  const { ask, brain, branch } = await resolveWrite(context, wish);
  const { changed } = context.take(settled(context, await ask(setBrainKey, { branch, key, value })));
  const source = value === null ? null : ('brain' as const);
  return { key, value, status: 'set' as const, persisted: true as const, changed, brain, source, shadowedBy: null };
}

const KEYS = Object.keys(SETTINGS).map((key) => key.replace('*', '<name>'));

/** The brain that is named must be one that the caller may see. */
async function brainFor(context: CallContext, wanted: string | undefined): Promise<string> {
  const { deps, caller } = context;
  if (wanted === undefined) return (await deps.sessions.read(caller.session)).stack[0].brain;
  const readable = await readableBrains(context);
  if (!readable.some(({ name }) => name === wanted)) throw new CallError('BRAIN_LOAD_FAIL');
  return wanted;
}

function isNobody({ operator, subject }: Caller): boolean {
  return !operator && isAnonymous(subject);
}

async function allShown(deps: BrainDeps, caller: Caller): Promise<Record<string, Json>> {
  if (isNobody(caller)) return {};
  const settings = await deps.settings.inspectAll(await stampOf(deps, caller));
  return Object.fromEntries([...settings].map(([key, { value }]) => [key, jsonOf(value)]));
}

function shownValue({ value, source }: InEffect) {
  return { value: jsonOf(value), source: SOURCES[source] };
}

type Json = z.output<ReturnType<typeof z.json>>;

/** What the table declares, and what a file of JSON says, is JSON. */
function jsonOf(value: unknown): Json {
  return value as Json;
}

function shownKeys(keys: ReadonlyMap<string, BrainKey>): Record<string, Json> {
  return Object.fromEntries([...keys].map(([key, { value }]) => [key, jsonOf(value)]));
}

async function stampOf({ revision }: BrainDeps, { registry }: Caller): Promise<RegistryStamp> {
  return registry ?? (await revision()).stamp;
}

export const configTools = [configGet, configSet];
