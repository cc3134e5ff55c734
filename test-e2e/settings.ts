/** What a run can be told by its environment. */
import { randomInt } from 'node:crypto';

function count(name: string, fallback: number): number {
  return Number(process.env[name] ?? '') || fallback;
}

/** Every failure prints it; the same seed gives the same random choices. */
export const SEED = count('E2E_SEED', randomInt(1, 2 ** 31));
export const KILL_ROUNDS = count('E2E_KILL_ROUNDS', 10);
export const ROLLING_RESTARTS = count('E2E_ROLLING_RESTARTS', 10);
export const GARBAGE_REQUESTS = count('E2E_GARBAGE_REQUESTS', 20_000);
