/** What callers fetch from hosts that operators listed. */
import { actorName } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import type { Caller, ToolContext } from '@svc/contract/tool.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { isDeeperThan } from '../json-depth.ts';
import {
  assertPermitted,
  defineSandboxTool,
  isPermitted,
  type SandboxDeps,
  tenantOf,
  workspaceOf,
} from '../sandbox-deps.ts';
import { type Target, targetOf } from './domain/target.ts';
import { decideTold, type Fetched, type ListedHosts, type NetworkDenial } from './fetcher.ts';

/** As deep as what comes in through a door. */
const JSON_DEPTH = 64;

const url = z
  .string()
  .max(4096)
  .refine((text) => targetOf(text) !== null, 'must be an address of http or https, without user and password')
  .describe('http or https; the host has to be listed in network.allow.');

const REFUSES = [
  'E_ADDRESS_DENIED',
  'E_DISABLED',
  'E_HOST_DENIED',
  'E_REDIRECT',
  'E_TIMEOUT',
  'E_TLS',
  'E_TOO_LARGE',
  'E_TYPE',
  'E_UNREACHABLE',
] as const;

const RAISES = ['FORBIDDEN', 'RATE_LIMITED'] as const;

const common = {
  area: 'network',
  access: 'identified',
  effect: 'external',
  raises: RAISES,
  dress: { ok: false },
  input: z.strictObject({ url }),
} as const;

type Call = ToolContext<SandboxDeps, (typeof REFUSES)[number], (typeof RAISES)[number]>;

async function listedNow({ registry }: SandboxDeps, caller: Caller): Promise<ListedHosts> {
  const [allowed, allowPrivate] = await Promise.all([
    registry.setting('network.allow', caller.registry),
    registry.setting('network.allowPrivate', caller.registry),
  ]);
  return { allow: allowed, allowPrivate };
}

/** Once for a key. Throws FORBIDDEN, or a refusal. Whatever comes of it is told, once it was tried. */
async function fetched(call: Call, text: string): Promise<Fetched> {
  const { deps, caller } = call;
  const target = targetOf(text);
  if (target === null) throw new CallError('VAF_INPUT_INVALID');
  const { host } = target;
  await assertPermitted(deps.registry, caller, 'network', host);
  const outcome = await deps.keyedRuns.once<Decision<Fetched, NetworkDenial>, never>(call, async () => {
    await assertEnabled(call);
    const mayVisit = (next: Target): Promise<boolean> => isPermitted(deps.registry, caller, 'network', next.host);
    const decision = await deps.network.fetch(tenantOf(caller), target, await listedNow(deps, caller), mayVisit);
    return deps.sandboxStore.change(call, async ({ emit }) => {
      const [status, code] = decision.ok ? [decision.value.status, null] : [null, decision.code];
      const payload = { by: actorName(caller), host, status, code };
      emit({ name: 'network:fetched', workspace: workspaceOf(caller), payload });
      return allow(decision);
    });
  });
  return call.take(settled(call, outcome));
}

async function assertEnabled({ deps, caller, refuse }: Call): Promise<void> {
  if (await deps.registry.setting('network.enabled', caller.registry)) return;
  deps.refusals.note();
  throw refuse('E_DISABLED', { needs: ['network.enabled'] });
}

const Answer = z.strictObject({
  ok: z.literal(true),
  status: z.int(),
  contentType: z.string(),
  body: z.string(),
  bytes: z.int(),
  finalUrl: z.string(),
  redirects: z.int(),
});

const fetchTool = defineSandboxTool({
  ...common,
  name: 'svc_network_fetch',
  description: 'Fetch a text from a listed host; any HTTP status is an answer.',
  output: Answer,
  refuses: REFUSES,
  example: { url: 'https://example.org/' },
  handler: async ({ url: asked }, call) => ({ ok: true as const, ...(await fetched(call, asked)) }),
});

const fetchJson = defineSandboxTool({
  ...common,
  name: 'svc_network_fetchJson',
  description: 'Fetch JSON from a listed host; any HTTP status is an answer.',
  output: Answer.omit({ contentType: true, body: true, redirects: true }).extend({
    json: z.unknown().describe('Any JSON.'),
  }),
  refuses: [...REFUSES, 'E_NOT_JSON'],
  example: { url: 'https://example.org/feed.json' },
  async handler({ url: asked }, call) {
    const { status, body, bytes, finalUrl } = await fetched(call as Call, asked);
    const json = jsonOf(body);
    if (json === undefined) throw call.refuse('E_NOT_JSON', { status });
    return { ok: true as const, status, json: call.take(decideTold(json)), bytes, finalUrl };
  },
});

/** Undefined = it is none. */
function jsonOf(text: string): unknown {
  try {
    return isDeeperThan(text, JSON_DEPTH) ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

const online = defineSandboxTool({
  name: 'svc_network_online',
  area: 'network',
  description: 'Whether fetching is switched on and a listed host takes a connection, as of the last half minute.',
  input: z.strictObject({}),
  output: z.strictObject({ online: z.boolean(), enabled: z.boolean(), checkedAt: TimestampMs }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps, caller, now }) {
    const enabled = await deps.registry.setting('network.enabled', caller.registry);
    if (!enabled) return { online: false, enabled, checkedAt: now };
    return { enabled, ...(await deps.network.online(await listedNow(deps, caller))) };
  },
});

export const networkTools = [fetchTool, fetchJson, online];
