/** Events of a brain as a whole, told so that whoever hears one learns nothing of what it may not read. */
import type { NewEvent } from '@svc/runtime/outbox.ts';
import type { EventRules } from '../ports.ts';
import type { BrainContext } from '../writer/context.ts';
import { ISLANDS } from './island-past.ts';

type Brain = Pick<BrainContext, 'name' | 'handles'>;

/** Boundaries of islands concern a brain only when it ever held one. */
export async function eventRulesOf({ rules, name, islands }: BrainContext): Promise<EventRules> {
  const found = await rules.eventRules(name);
  const isUnruled = found.isUnruled || (found.isUnruledButIslands && !(await islands.hasHeld()));
  return {
    isUnruled,
    isUnruledButIslands: found.isUnruledButIslands,
    narrower: (path) => found.narrower(path),
  };
}

interface NewCommitNews {
  readonly branch: string;
  readonly commit: string;
  readonly by: string;
  readonly files: readonly string[];
}

/**
 * `files` counts those that every listener may read. When that is none of them, only who may read each that was
 * committed hears of it.
 */
export function savedEvent(
  brain: Brain,
  rules: EventRules,
  { branch, commit, by, files }: NewCommitNews,
): NewEvent<'brain:save'> {
  const narrower = files.map((file) => rules.narrower(file));
  const openFiles = narrower.filter((keys) => keys.length === 0).length;
  const needed = openFiles > 0 ? [] : new Set(narrower.flat());
  const payload = {
    brain: brain.name,
    branch,
    commit: files.some((file) => file.startsWith(ISLANDS))
      ? brain.handles.handleOf(commit)
      : toldCommit(brain, rules, commit),
    files: openFiles > 0 ? openFiles : files.length,
    by,
    resources: [`brain:${brain.name}`, ...needed],
  };
  return { name: 'brain:save', payload };
}

export function branchCreatedEvent(
  brain: Brain,
  rules: EventRules,
  { branch, commit, by }: Omit<NewCommitNews, 'files'>,
): NewEvent<'branch:created'> {
  const resources = [`brain:${brain.name}`];
  const payload = { brain: brain.name, branch, commit: toldCommit(brain, rules, commit), by, resources };
  return { name: 'branch:created', payload };
}

/** How many of the files every listener may read. */
export function toldCount(rules: EventRules, files: readonly string[]): number {
  return files.filter((file) => rules.narrower(file).length === 0).length;
}

/** A handle is taken wherever an id is, also from those for whom nothing is hidden. */
export function toldCommit({ handles }: Brain, { isUnruled }: EventRules, commit: string): string {
  return isUnruled ? commit : handles.handleOf(commit);
}
