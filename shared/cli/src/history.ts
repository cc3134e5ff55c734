/** What was typed at the prompt, kept for the next time. */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Surroundings } from './surroundings.ts';

export interface History {
  /** Newest first. */
  readonly lines: readonly string[];
  add(line: string): Promise<void>;
}

const MAX_LINES = 1000;
const OWNER_ONLY = 0o600;
/** A line with a raw token is not written down. */
const SECRET = /\bsvc_[A-Za-z0-9_-]{16,}/;

/** A place where it cannot be kept costs the person nothing. */
export async function openHistory({ env, home }: Pick<Surroundings, 'env' | 'home'>): Promise<History> {
  const state = env['XDG_STATE_HOME'];
  const file = join(state === undefined || state === '' ? join(home, '.local', 'state') : state, 'svc', 'history');
  const text = await readFile(file, 'utf8').catch(() => '');
  const all = text.split('\n').filter((line) => line !== '');
  const kept = all.slice(-MAX_LINES);
  if (all.length > 2 * MAX_LINES) await writeFile(file, `${kept.join('\n')}\n`, { mode: OWNER_ONLY }).catch(() => {});
  return {
    lines: kept.toReversed(),
    async add(line) {
      if (SECRET.test(line) || /[\r\n]/.test(line)) return;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
        .then(() => appendFile(file, `${line}\n`, { mode: OWNER_ONLY }))
        .catch(() => {});
    },
  };
}
