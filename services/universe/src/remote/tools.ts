/** Other nodes, called by operators and by whom they let, and git remotes, which the service of brains syncs with. */
import { actorName } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { JsonData } from '@svc/contract/json-data.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { REMOTE_TOKEN } from '@svc/runtime/config-remote.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import type { Contact } from '../connectors/contact-store.ts';
import { type DoorDeps, defineDoorTool } from '../doors-deps.ts';
import { assertPermitted, workspaceOf } from '../sandbox-deps.ts';
import { baseOf, decideBase, MAX_NODES, type Remote } from './domain/remote.ts';
import { addGit, brainsOf, forgetIn, type GitWish } from './git-remotes.ts';
import { REMOTE_LIMITS } from './node-client.ts';
import { connectorOf } from './remote-store.ts';

const Provider = z.strictObject({
  id: z.string(),
  type: z.enum(['node', 'git']),
  name: z.string(),
  url: z.string(),
  brain: z.string().nullable().describe('Of git: the only brain that syncs with it; null = all brains.'),
  tokenRef: z.string().nullable(),
  tokenSet: z.boolean().describe('The process that answers has that variable.'),
  lastOkAt: TimestampMs.nullable(),
  lastError: z
    .string()
    .nullable()
    .describe('Code of the last attempt; null = it succeeded, or there was none. E_REMOTE_ABSENT: its brain is gone.'),
});

const Named = z.string().min(1).max(100);

interface Known {
  readonly contact: Contact | undefined;
  /** Of a git remote; undefined = no brain syncs with it any more. */
  readonly brain: string | null | undefined;
}

function shown({ remotes }: DoorDeps, remote: Remote, { contact, brain }: Known): z.output<typeof Provider> {
  const { id, type, name, url, tokenRef } = remote;
  const lastOkAt = contact?.okAt ?? null;
  const lastError = brain === undefined ? 'E_REMOTE_ABSENT' : (contact?.error ?? null);
  return {
    id,
    type,
    name,
    url,
    brain: brain ?? null,
    tokenRef,
    tokenSet: remotes.tokenOf(remote) !== null,
    lastOkAt,
    lastError,
  };
}

const list = defineDoorTool({
  name: 'svc_remote_listProviders',
  area: 'remote',
  description:
    'The other nodes that can be called, and the git remotes that were added, with the names of their credentials and how the last attempts went.',
  input: z.strictObject({}),
  output: z.strictObject({ providers: z.array(Provider) }),
  access: 'operator',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps }) {
    const [remotes, contacts] = await Promise.all([deps.remotes.store.all(), deps.contacts.all()]);
    const brains = await brainsOf(deps.remotes.git, remotes);
    return {
      providers: remotes.map((remote) =>
        shown(deps, remote, { contact: contacts.get(connectorOf(remote)), brain: brains(remote) }),
      ),
    };
  },
});

const Config = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, underscores or dashes')
    .describe('Of git: at most 32 characters without dots, as svc_sync is given it.'),
  url: z
    .string()
    .min(1)
    .max(500)
    .describe('Of a node its base address, https; http only on loopback, or with insecure. Of git: https or ssh.'),
  tokenRef: z.string().regex(REMOTE_TOKEN, 'must look like SVC_REMOTE_TOKEN_NAME').optional().describe('Of a node.'),
  insecure: z.boolean().optional().describe('Of a node.'),
  brain: z.string().min(1).max(128).optional().describe('Of git: the only brain that syncs with it; all without.'),
});
type Config = z.output<typeof Config>;

const add = defineDoorTool({
  name: 'svc_remote_addProvider',
  area: 'remote',
  description:
    'Makes another node, or a repository to sync with, known by a name. A token stands in a variable of the environment, which is named.',
  input: z.strictObject({ type: z.enum(['node', 'git']), config: Config }),
  output: z.strictObject({ added: z.string(), provider: Provider }),
  access: 'operator',
  effect: 'write-idempotent',
  refuses: ['E_ADDRESS_DENIED', 'E_REMOTE_TAKEN'],
  example: { type: 'node', config: { name: 'b', url: 'https://b.example.org', tokenRef: 'SVC_REMOTE_TOKEN_B' } },
  async handler({ type, config }, context) {
    const { deps, caller, refuse } = context;
    const by = actorName(caller);
    if (type === 'git') {
      const wish = gitWish(config);
      const remote = settled(
        context,
        await deps.keyedRuns.once(context, () => addGit(deps.remotes, context, wish, by)),
      );
      return { added: remote.id, provider: shown(deps, remote, await knownOf(deps, remote, wish.brain)) };
    }
    const { name, url, tokenRef = null, insecure = false, brain } = config;
    if (brain !== undefined) throw new CallError('VAF_INPUT_INVALID', 'config.brain is of git remotes alone');
    const base = decideBase(url, insecure);
    if (!base.ok) throw new CallError('VAF_INPUT_INVALID', String(base.details?.['problem']));
    const wish = { id: deps.remotes.newId(), type, name, url: baseOf(base.value), tokenRef, insecure };
    const reachable = await deps.remotes.client.decideReachable(wish.url, await deps.allowPrivate());
    // A name that does not resolve now may do so when it is called, and is judged then.
    if (!reachable.ok && reachable.code === 'E_ADDRESS_DENIED') throw refuse('E_ADDRESS_DENIED', { name });
    const remote = settled(context, await deps.remotes.store.add(context, wish, by));
    return { added: remote.id, provider: shown(deps, remote, await knownOf(deps, remote, null)) };
  },
});

function gitWish({ name, url, brain, tokenRef, insecure }: Config): GitWish {
  if (tokenRef !== undefined || insecure !== undefined)
    throw new CallError('VAF_INPUT_INVALID', 'config.tokenRef and config.insecure are of nodes alone');
  return { name, url, brain: brain ?? null };
}

async function knownOf({ contacts }: DoorDeps, remote: Remote, brain: string | null): Promise<Known> {
  return { contact: (await contacts.all()).get(connectorOf(remote)), brain };
}

const remove = defineDoorTool({
  name: 'svc_remote_removeProvider',
  area: 'remote',
  description: 'Forgets another node, or a git remote that was added.',
  input: z.strictObject({ id: Named.describe('Id or name.') }),
  output: z.strictObject({ removed: z.string() }),
  access: 'operator',
  effect: 'write-idempotent',
  destructive: true,
  refuses: ['E_REMOTE_ABSENT'],
  aliases: { name: 'id' },
  example: { id: 'b' },
  async handler({ id }, context) {
    const { remotes, keyedRuns } = context.deps;
    const by = actorName(context.caller);
    const outcome = await keyedRuns.once(context, async () => {
      const left = await forgetIn(remotes, id);
      return remotes.store.remove(context, left?.id ?? id, by, left);
    });
    return { removed: settled(context, outcome) };
  },
});

/** The tool answers while its caller still waits. */
const ANSWER_BEFORE_MS = 250;

const call = defineDoorTool({
  name: 'svc_remote_call',
  area: 'remote',
  description: 'Calls a tool of another node with the credential that this node has for it.',
  input: z.strictObject({
    host: z.string().min(1).max(500).describe('Id or name of a node that was added.'),
    tool: z.string().regex(/^[A-Za-z0-9_]{1,100}$/),
    args: z.record(z.string(), JsonData).optional(),
  }),
  output: z.strictObject({
    ok: z.literal(true),
    host: z.string(),
    tool: z.string(),
    result: z.unknown().describe('What the other node has as `result`.'),
  }),
  access: 'identified',
  effect: 'external',
  destructive: true,
  raises: ['FORBIDDEN'],
  refuses: [
    'E_ADDRESS_DENIED',
    'E_OUTCOME_UNKNOWN',
    'E_REMOTE_ABSENT',
    'E_REMOTE_ERROR',
    'E_REMOTE_LOOP',
    'E_TOO_LARGE',
    'E_UNREACHABLE',
  ],
  dress: { ok: false },
  aliases: { arguments: 'args' },
  deadlineMs: REMOTE_LIMITS.withinMs + 5000,
  // The result is that of any tool of the other node.
  secrets: ['result'],
  example: { host: 'b', tool: 'svc_health', args: {} },
  async handler({ host, tool, args = {} }, context) {
    const { deps, caller, refuse, take, now, idempotency } = context;
    const remote = await deps.remotes.store.node(host);
    const target = remote === null ? host : new URL(remote.url).hostname.replace(/^\[|\]$/g, '');
    await assertPermitted(deps.registry, caller, 'network', target);
    const said = { host, tool };
    if (remote === null) throw refuse('E_REMOTE_ABSENT', said);
    const { hops: before = 0 } = caller;
    if (before >= MAX_NODES) throw refuse('E_REMOTE_LOOP', { ...said, limit: MAX_NODES });
    const withinMs = Math.min(REMOTE_LIMITS.withinMs, caller.deadlineAt - now - ANSWER_BEFORE_MS);
    const wish = { tool, args, key: idempotency?.key ?? null, hops: before + 1, withinMs };
    const decision = await deps.remotes.call(remote, wish);
    const code = decision.ok ? null : decision.code;
    const payload = { by: actorName(caller), host: remote.name, tool, ok: decision.ok, code };
    const told = { name: 'remote:called', workspace: workspaceOf(caller), payload } as const;
    // Nothing is kept under the key here: the other node keeps it, and a repeat learns what came of it there.
    const noted = { error: code, event: told, answer: null };
    await deps.contacts.note({ caller, idempotency: null }, connectorOf(remote), noted);
    return { ok: true as const, ...said, result: take(decision, said) };
  },
});

export const remoteTools = [list, add, remove, call];
