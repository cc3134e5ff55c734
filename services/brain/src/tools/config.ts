/** Configuration: the settings of the node. A brain's own keys are not part of this version. */
import { z } from 'zod';
import { actorName } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { BrainName } from '@svc/contract/names.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
import { brainAndBranch } from '@svc/contract/params.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import {
  declaredKey,
  type InEffect,
  isSecretSetting,
  isSettingKey,
  MAX_KEY_LENGTH,
  SETTINGS,
  settingValue,
} from '@svc/contract/settings.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { type BrainDeps, defineTool } from '../deps.ts';
import { type CallContext, readableBrains } from './target.ts';

const AREA = 'config';
const Key = z.string().min(1).max(MAX_KEY_LENGTH).describe('Such as mcp.requireKey; docs/config.md lists them.');
const Source = z.enum(['flag', 'node', 'default']).describe('flag = the environment, node = set here.');
const SOURCES = { environment: 'flag', node: 'node', default: 'default' } as const;

const one = z.strictObject({
  key: z.string(),
  value: z.json().describe('Null = nobody set it, and it has no default.'),
  source: Source.nullable().describe('Null = no such setting.'),
  brain: BrainName,
  masked: z.boolean(),
});
const all = z.strictObject({ config: z.record(z.string(), z.json()), brain: BrainName });

const configGet = defineTool({
  name: 'svc_config_get',
  area: AREA,
  description: 'Shows a setting that is in effect and where its value comes from, or all of them.',
  input: z.strictObject({ key: Key.optional(), brain: brainAndBranch.brain }),
  output: z.union([one, all]),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: ['BRAIN_LOAD_FAIL', 'UNAUTHORIZED'],
  example: { key: 'habitat.maxAgents' },
  async handler({ key, brain: wanted }, context) {
    const { deps, caller } = context;
    const brain = await brainFor(context, wanted);
    if (key === undefined) return { config: await allShown(deps, caller), brain };
    if (!isSettingKey(key)) throw invalidArguments([{ path: 'key', message: 'is no key of a setting' }]);
    const declared = declaredKey(key);
    if (declared === null) return { key, value: null, source: null, brain, masked: false };
    if (isNobody(caller)) throw context.fail('UNAUTHORIZED');
    const shown = await deps.settings.inspect(key, declared, await stampOf(deps, caller));
    return { key, ...shownValue(shown), brain, masked: false };
  },
});

const configSet = defineTool({
  name: 'svc_config_set',
  area: AREA,
  description: 'Sets a setting of the node, in effect everywhere from the next call on; null unsets it.',
  input: z.strictObject({
    key: Key,
    value: z.json().describe('As the setting wants it; "true", "false" and decimal texts are understood.'),
    brain: brainAndBranch.brain,
  }),
  output: z.strictObject({
    key: z.string(),
    value: z.json().describe('In effect now.'),
    status: z.literal('set'),
    persisted: z.literal(true),
    changed: z.boolean().describe('Another value is in effect than before.'),
    brain: BrainName,
    source: Source,
    shadowedBy: z.literal('flag').nullable().describe('flag = the environment fixes another value.'),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_CONFIG_KEY', 'E_CONFIG_SECRET'],
  raises: ['BRAIN_LOAD_FAIL', 'FORBIDDEN'],
  dress: { persisted: false },
  example: { key: 'habitat.maxAgents', value: 300 },
  async handler({ key, value, brain: wanted }, context) {
    const { deps, caller, idempotency } = context;
    const brain = await brainFor(context, wanted);
    if (isSecretSetting(key)) throw context.refuse('E_CONFIG_SECRET', { key });
    const declared = declaredKey(key);
    if (declared === null) throw context.refuse('E_CONFIG_KEY', { key, nearest: nearestNames(key, KEYS) });
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
  },
});

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

/** What the table declares is JSON. */
function jsonOf(value: unknown): Json {
  return value as Json;
}

async function stampOf({ revision }: BrainDeps, { registry }: Caller): Promise<RegistryStamp> {
  return registry ?? (await revision()).stamp;
}

export const configTools = [configGet, configSet];
