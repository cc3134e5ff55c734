/** Plays one plan against a node and tells what must not have happened. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Caller } from '../../client.ts';
import { promised } from '../../settings.ts';
import { brainFolder, logsOf, type OwnTarget } from '../../targets/target.ts';
import * as agents from './agents.ts';
import * as colleague from './colleague.ts';
import { commitsTold } from './evidence.ts';
import { type Ground, note } from './ground.ts';
import { History } from './history.ts';
import { judge } from './judge.ts';
import * as person from './person.ts';
import type { Act, Group, Plan } from './plan.ts';

export interface Played {
  readonly plan: Plan;
  readonly problems: readonly string[];
  readonly log: readonly string[];
}

export interface Place {
  readonly node: OwnTarget;
  /** Of remotes that nobody used yet. */
  readonly remotes: string[];
  readonly remotesFolder: string;
}

const NEXT_WRITE_WITHIN_MS = promised(2000);
const TOLD_ERRORS = 4;

export async function play(plan: Plan, place: Place, brain: string): Promise<Played> {
  const ground = await groundFor(plan, place, brain);
  for (const group of plan.groups) await playGroup(ground, group, place.node);
  const caller = new Caller(place.node.place);
  const from = performance.now();
  ground.log.push(`the person tidies up: ${await person.tidyUp(ground)} (${Math.round(performance.now() - from)} ms)`);
  await caller.call('svc_lock', { action: 'force', brain });
  await judge(ground, { caller, nextWriteWithinMs: NEXT_WRITE_WITHIN_MS });
  if (ground.problems.length > 0)
    ground.log.push(...commitsTold(ground.folder).map((line) => `git: ${line}`), ...lastErrors(place.node));
  return { plan, problems: ground.problems, log: ground.log };
}

async function groundFor(plan: Plan, { node, remotes, remotesFolder }: Place, brain: string): Promise<Ground> {
  const names = new Set(plan.groups.flatMap(({ acts }) => acts.map(({ who }) => who)));
  const agentsOfIt = new Map(
    [...names].filter((who) => who.startsWith('agent')).map((who) => [who as string, new Caller(node.place)]),
  );
  const name = plan.syncs ? (remotes.pop() ?? '') : '';
  await new Caller(node.place).ok('brain_switch', { name: brain, create: true });
  return {
    brain,
    folder: brainFolder(node.place, brain),
    treesFolder: join(node.place.dataDir, 'worktrees', brain),
    remote: { name, bare: join(remotesFolder, `${name}.git`), clone: join(remotesFolder, `colleague-${brain}`) },
    history: new History(),
    problems: [],
    log: [],
    agents: agentsOfIt,
    leases: new Map(),
    isKilled: false,
    startedAt: performance.now(),
  };
}

async function playGroup(ground: Ground, { acts, killAfterMs }: Group, node: OwnTarget): Promise<void> {
  const playing = Promise.all(acts.map((act) => playAct(ground, act)));
  if (killAfterMs !== null) {
    await delay(killAfterMs);
    ground.isKilled = true;
    await Promise.all(node.brains.map((one) => one.kill()));
    ground.log.push('the node was killed');
  }
  await playing;
  if (killAfterMs === null) return;
  for (const one of node.brains) await one.start();
  ground.isKilled = false;
}

async function playAct(ground: Ground, act: Act): Promise<void> {
  await delay(act.afterMs);
  const from = performance.now();
  note(ground, act, from, await perform(ground, act));
}

function perform(ground: Ground, act: Act): Promise<string> {
  if (act.who === 'person') return person.act(ground, act).catch(obstructed);
  return act.who === 'colleague' ? colleague.act(ground, act) : agents.act(ground, act);
}

/** A file where a folder was, say: a person sees it and lets it be. */
function obstructed(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return `not possible: ${code}`;
}

/** What the node itself complained of, as far as its log tells. */
function lastErrors(node: OwnTarget): string[] {
  const lines = logsOf(node.place)
    .split('\n')
    .filter((line) => line.includes('"level":50') || line.includes('"level":60'));
  return lines.slice(-TOLD_ERRORS).map((line) => `log: ${line.slice(0, 1500)}`);
}

/** Fewer groups that fail still: halves first, then smaller parts, within so many further runs. */
export async function shortened(
  plan: Plan,
  attempts: number,
  failsStill: (plan: Plan) => Promise<boolean>,
): Promise<Plan> {
  let best = plan;
  let size = Math.ceil(best.groups.length / 2);
  for (let attempt = 0, at = 0; attempt < attempts && size >= 1; attempt += 1) {
    const groups = best.groups.filter((_, index) => index < at || index >= at + size);
    if (groups.length > 0 && groups.length < best.groups.length && (await failsStill({ ...best, groups }))) {
      best = { ...best, groups };
    } else {
      at += size;
    }
    if (at >= best.groups.length) {
      at = 0;
      size = Math.floor(size / 2);
    }
  }
  return best;
}

export function initRemote(folder: string, name: string): string {
  const bare = join(folder, `${name}.git`);
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare]);
  return `${name}=file://${bare}`;
}
