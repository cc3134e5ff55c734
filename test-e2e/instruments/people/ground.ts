/** Where a sequence is played: the brain, its folder, the remote it shares with a colleague, and the notes taken. */
import { execFile } from 'node:child_process';
import type { Caller } from '../../client.ts';
import { PERSON_ENVIRONMENT } from '../git.ts';
import type { History } from './history.ts';
import type { Act } from './plan.ts';

export interface Ground {
  readonly brain: string;
  /** Working tree of `main`. */
  readonly folder: string;
  /** Where the working trees of the other branches lie. */
  readonly treesFolder: string;
  readonly remote: { readonly name: string; readonly bare: string; readonly clone: string };
  readonly history: History;
  /** What must not have happened, in words. */
  readonly problems: string[];
  /** Each act with its times and what came of it. */
  readonly log: string[];
  readonly agents: ReadonlyMap<string, Caller>;
  /** Leases held: agent -> token. */
  readonly leases: Map<string, string>;
  /** A node that was killed owes no answer. */
  isKilled: boolean;
  readonly startedAt: number;
}

export interface Ended {
  readonly ok: boolean;
  readonly output: string;
}

const GIT_WITHIN_MS = 60_000;

/** Git as a person uses it, beside everything else that goes on. */
export function personGit(folder: string, ...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: PERSON_ENVIRONMENT, timeout: GIT_WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile('git', [...args], options, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: `${stdout}${stderr}`.trim() }),
    );
  });
}

/** Words that nobody wrote before: one at the start of what the act writes, one at its end. */
export function marksOf({ nth, who }: Act, part = ''): [string, string] {
  const word = `zq${nth}${who.replace(/[^a-z0-9]/g, '')}${part}`;
  return [`${word}first`, `${word}last`];
}

/** A note, or JSON where the name says so. */
export function textOf(act: Act, part = ''): string {
  const [first, last] = marksOf(act, part);
  if (act.path.endsWith('.json')) return `${JSON.stringify({ id: first, at: act.nth, end: last }, null, 1)}\n`;
  const lines = Array.from({ length: 2 + (act.nth % 9) }, (_, index) => `Line ${index} of note ${act.nth}.`);
  return [`# ${first}`, '', ...lines, '', last, ''].join('\n');
}

export function note({ log, startedAt }: Ground, act: Act, from: number, outcome: string): void {
  const at = (moment: number) => String(Math.round(moment - startedAt)).padStart(6);
  const { who, verb, path, nth } = act;
  log.push(`${at(from)}..${at(performance.now())} ms #${nth} ${who} ${verb} ${path}: ${outcome}`);
}
