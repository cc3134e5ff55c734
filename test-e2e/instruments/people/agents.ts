/** Agents' acts: calls of tools, each judged by what it answered. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, codeOf, type Fields, isFields, type Reply } from '../../client.ts';
import { type Ground, marksOf, textOf } from './ground.ts';
import { blobIdOf, type Erasure, sha256Of } from './history.ts';
import type { Act } from './plan.ts';

/** What a tool may answer when people and agents are at it together. */
const RIGHT_NOS = new Set([
  'E_CONFLICT',
  'E_FILE_ABSENT',
  'E_BRAIN_DIVERTED',
  'E_LOCKED',
  'E_FENCED',
  'E_BUSY',
  'E_NOT_TEXT',
  'E_BRANCH_ABSENT',
  'E_BRANCH_EXISTS',
  'E_REF_ABSENT',
  'E_LEASE_ABSENT',
  'E_LEASE_TOKEN',
  'E_REMOTE_RACE',
  'E_NOT_FOUND',
  'VAF_PATH_BLOCKED',
]);
/** The call may have had its effect. */
const UNSURE = new Set(['E_OUTCOME_UNKNOWN', 'TIMEOUT', 'INTERNAL', 'SERVICE_UNAVAILABLE']);
const LOOKS = 5;
const BETWEEN_LOOKS_MS = 7;
const LEASE_MS = 1500;
/** An effect that nobody was told of may come so long after the connection broke. */
const LATE_EFFECT_MS = 1500;

interface Said {
  readonly result: Fields | null;
  readonly isUnsure: boolean;
  /** A refusal that came after the file was written. */
  readonly isWritten: boolean;
  readonly outcome: string;
}

interface AgentAct extends Act {
  readonly caller: Caller;
}

type Performed = (ground: Ground, act: AgentAct) => Promise<string>;

export async function act(ground: Ground, wish: Act): Promise<string> {
  const perform = AGENT_ACTS[wish.verb];
  const caller = ground.agents.get(wish.who);
  if (perform === undefined || caller === undefined) throw new Error(`${wish.who} cannot ${wish.verb}`);
  return perform(ground, { ...wish, caller });
}

const AGENT_ACTS: Readonly<Record<string, Performed>> = {
  write: (ground, act) => write(ground, act, 'brain_write', 'main'),
  save: (ground, act) => write(ground, act, 'brain_save', 'main', { message: `saved ${act.nth}` }),
  'write-side': (ground, act) => write(ground, act, 'brain_write', 'side'),
  async 'write-if'(ground, act) {
    const read = await say(ground, act, 'brain_read', { name: act.path });
    return write(ground, act, 'brain_write', 'main', { ifMatch: read.result?.['hash'] ?? 'none' });
  },
  async delete(ground, act) {
    const from = performance.now();
    const said = await say(ground, act, 'brain_delete_file', { name: act.path });
    const { path, who } = act;
    if (said.result === null && !said.isUnsure) return said.outcome;
    const to = performance.now() + (said.isUnsure ? LATE_EFFECT_MS : 0);
    const hash = said.result?.['hash'];
    const sha256 = typeof hash === 'string' ? hash : undefined;
    const gone: Partial<Erasure> = { branch: 'main', onlyText: true, sha256 };
    ground.history.removed({ deletes: true, path, from, to }, who, gone);
    return said.outcome;
  },
  commit: async (ground, act) => (await say(ground, act, 'svc_commit', { message: `commit ${act.nth}` })).outcome,
  'commit-side': async (ground, act) =>
    (await say(ground, act, 'svc_commit', { message: `commit ${act.nth}`, branch: 'side' })).outcome,
  branch: async (ground, act) => (await say(ground, act, 'svc_create_branch', { name: 'side' })).outcome,
  'merge-side': async (ground, act) =>
    (await say(ground, act, 'svc_branch_merge', { from: 'side', into: 'main' })).outcome,
  'delete-side': async (ground, act) => (await say(ground, act, 'svc_branch_delete', { name: 'side' })).outcome,
  history: async (ground, act) => (await say(ground, act, 'svc_history', { branch: 'main' })).outcome,
  diff: async (ground, act) => (await say(ground, act, 'svc_diff', { branch: 'main' })).outcome,
  async resolve(ground, act) {
    const { result } = await say(ground, act, 'svc_conflicts', { branch: 'main' });
    const [open] = (result?.['conflicts'] ?? []) as { readonly id: string; readonly file: string }[];
    if (open === undefined) return 'nothing to settle';
    const from = performance.now();
    const said = await say(ground, act, 'svc_conflict_resolve', { id: open.id, take: 'theirs' });
    const to = performance.now() + LATE_EFFECT_MS;
    ground.history.removed({ deletes: true, path: open.file, from, to }, act.who, { branch: 'main', onlyText: true });
    return said.outcome;
  },
  read: async (ground, act) => (await read(ground, act)).outcome,
  async watch(ground, act) {
    const seen: string[] = [];
    for (let look = 0; look < LOOKS; look += 1) {
      seen.push((await read(ground, act)).outcome);
      await delay(BETWEEN_LOOKS_MS);
    }
    return seen.join(', ');
  },
  list: async (ground, act) => (await say(ground, act, 'brain_list_files', { limit: 1000 })).outcome,
  search: async (ground, act) =>
    (await say(ground, act, 'svc_search', { query: `note ${marksOf(act)[0]} line`, branch: 'main' })).outcome,
  dirty: async (ground, act) => (await say(ground, act, 'svc_branch_is_dirty')).outcome,
  async sync(ground, act) {
    const { result, outcome } = await say(ground, act, 'svc_sync', { remote: ground.remote.name });
    return result === null ? outcome : `${outcome} ${String(result['status'])}`;
  },
  async lease(ground, act) {
    const { result, outcome } = await say(ground, act, 'svc_lock', { action: 'acquire', ttlMs: LEASE_MS });
    if (typeof result?.['token'] === 'string') ground.leases.set(act.who, result['token']);
    return outcome;
  },
  async release(ground, act) {
    const token = ground.leases.get(act.who);
    if (token === undefined) return 'holds nothing';
    ground.leases.delete(act.who);
    return (await say(ground, act, 'svc_lock', { action: 'release', token })).outcome;
  },
};

/** One call; an answer that must not come is a problem of the sequence. */
async function say(ground: Ground, { caller, nth }: AgentAct, tool: string, args: Fields = {}): Promise<Said> {
  let reply: Reply;
  try {
    reply = await caller.call(tool, { brain: ground.brain, ...args });
  } catch (error) {
    const text = `${tool}: no answer (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
    if (!ground.isKilled) ground.problems.push(`#${nth} ${text}`);
    return { result: null, isUnsure: true, isWritten: false, outcome: text };
  }
  return judged(ground, nth, { tool, args, reply });
}

interface Asked {
  readonly tool: string;
  readonly args: Fields;
  readonly reply: Reply;
}

function judged(ground: Ground, nth: number, { tool, args, reply }: Asked): Said {
  const code = codeOf(reply);
  const content = reply.body.result?.['content'];
  const fields = isFields(content) ? content : null;
  if (code === null)
    return {
      result: fields ?? reply.body.result ?? {},
      isUnsure: false,
      isWritten: false,
      outcome: `${tool} done`,
    };
  if (!RIGHT_NOS.has(code) && !(ground.isKilled && UNSURE.has(code)))
    ground.problems.push(`#${nth} ${tool} ${JSON.stringify(args).slice(0, 120)} answered ${reply.text.slice(0, 300)}`);
  const isWritten = fields?.['written'] !== undefined;
  return { result: null, isUnsure: UNSURE.has(code), isWritten, outcome: `${tool} ${code}` };
}

async function read(ground: Ground, act: AgentAct): Promise<Said> {
  const said = await say(ground, act, 'brain_read', { name: act.path });
  const { content, hash } = said.result ?? {};
  if (typeof content === 'string' && sha256Of(content) !== hash)
    ground.problems.push(`#${act.nth} brain_read ${act.path}: the hash is not that of the text`);
  return said;
}

async function write(ground: Ground, act: AgentAct, tool: string, branch: string, more: Fields = {}): Promise<string> {
  const { path, who } = act;
  const content = textOf(act);
  const from = performance.now();
  const said = await say(ground, act, tool, { name: path, content, branch, ...more });
  const to = performance.now();
  const { ifMatch } = more;
  const replaced: Partial<Erasure> = { onlyText: true, ...(typeof ifMatch === 'string' ? { sha256: ifMatch } : {}) };
  if (said.isUnsure) ground.history.erased({ branch, path, by: who, from, to: to + LATE_EFFECT_MS, ...replaced });
  if (said.result === null && !said.isWritten) return said.outcome;
  const bytes = Buffer.from(content);
  const version = { blob: blobIdOf(bytes), sha256: sha256Of(bytes), marks: marksOf(act), kind: 'text' as const };
  ground.history.wrote({ branch, path, by: who, ...version, from, to }, replaced);
  return said.outcome;
}
