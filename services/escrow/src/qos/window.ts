/** A sliding window and a circuit breaker as values. Times in ms since the epoch. */

/** Calls are counted in parts of a window, so that a window takes the same room whatever its limit. */
const PART_MS = 100;
export const WINDOW_MS = 60_000;
const FAILURES_TO_OPEN = 5;
/** More than those of two servers do. */
const CLOCKS_DIFFER_MS = 5000;

/** Number of the part -> count, oldest first. */
type Parts = readonly (readonly [part: number, count: number])[];

export interface KeyState {
  readonly calls: Parts;
  readonly failures: Parts;
  /** The breaker is open until then; 0 = it was not opened. */
  readonly openUntil: number;
  /** One call is out to try; no other goes until then. */
  readonly trialUntil: number;
}

export const FRESH: KeyState = { calls: [], failures: [], openUntil: 0, trialUntil: 0 };

export interface Proceed {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetAt: number;
  readonly reason?: 'rate' | 'breaker_open';
  readonly retryAfterMs?: number;
}

export interface Failures {
  /** In the window. */
  readonly failures: number;
  readonly open: boolean;
  readonly openUntil?: number;
}

export interface Step<Answer> {
  readonly state: KeyState;
  /** From then on nothing of the state matters. */
  readonly endsAt: number;
  readonly answer: Answer;
}

/** A part counts until all of it is older than the window; one that lies ahead is of a clock that was set back since. */
function inWindow(parts: Parts, now: number): Parts {
  return parts.filter(([part]) => (part + 1) * PART_MS > now - WINDOW_MS && part * PART_MS <= now + CLOCKS_DIFFER_MS);
}

/** A breaker that has longer to go than it opens for counts anew from now. */
function breakerOf({
  state: { openUntil, trialUntil },
  now,
  openMs,
}: Found): Pick<KeyState, 'openUntil' | 'trialUntil'> {
  const latest = now + openMs;
  return { openUntil: Math.min(openUntil, latest), trialUntil: Math.min(trialUntil, latest) };
}

function total(parts: Parts): number {
  return parts.reduce((sum, [, count]) => sum + count, 0);
}

function added(parts: Parts, now: number, count: number): Parts {
  const part = Math.floor(now / PART_MS);
  const last = parts.at(-1);
  if (last === undefined || last[0] < part) return [...parts, [part, count]];
  // a clock that was set back a little counts into the newest part
  return [...parts.slice(0, -1), [last[0], last[1] + count]];
}

/** When the oldest part leaves the window. */
function resetAt(parts: Parts, now: number): number {
  const [oldest] = parts;
  return oldest === undefined ? now + WINDOW_MS : Math.min((oldest[0] + 1) * PART_MS + WINDOW_MS, now + WINDOW_MS);
}

/** What a call finds of a key, and for how long its breaker opens. */
export interface Found {
  readonly state: KeyState;
  readonly now: number;
  readonly openMs: number;
}

/** Counts the call when it is allowed. */
export function proceed(found: Found, limit: number): Step<Proceed> {
  const { now, openMs } = found;
  const state = { ...found.state, ...breakerOf(found) };
  const calls = inWindow(state.calls, now);
  const used = total(calls);
  const window = { remaining: Math.max(0, limit - used), resetAt: resetAt(calls, now) };
  const blockedForMs = Math.max(state.openUntil, state.trialUntil) - now;
  if (blockedForMs > 0) {
    return step(state, openMs, { allowed: false, ...window, reason: 'breaker_open', retryAfterMs: blockedForMs });
  }
  if (used >= limit) {
    const retryAfterMs = Math.max(1, window.resetAt - now);
    return step(state, openMs, { allowed: false, ...window, reason: 'rate', retryAfterMs });
  }
  const counted = added(calls, now, 1);
  const isTrial = state.openUntil > state.trialUntil;
  const breaker = isTrial ? { trialUntil: now + openMs } : { openUntil: 0, trialUntil: 0 };
  const answer = { allowed: true, remaining: limit - used - 1, resetAt: resetAt(counted, now) };
  return step({ ...state, calls: counted, ...breaker }, openMs, answer);
}

/** A failure of the trial opens the breaker again at once; one that is open stays so for as long as it was to. */
export function fail(found: Found, count: number): Step<Failures> {
  const { now, openMs } = found;
  const state = { ...found.state, ...breakerOf(found) };
  const failures = added(inWindow(state.failures, now), now, count);
  const isOpen = state.openUntil > now;
  const opens = !isOpen && (state.trialUntil > now || total(failures) >= FAILURES_TO_OPEN);
  const next = { ...state, failures, ...(opens ? { openUntil: now + openMs, trialUntil: 0 } : {}) };
  const open = next.openUntil > now;
  return step(next, openMs, { failures: total(failures), open, ...(open ? { openUntil: next.openUntil } : {}) });
}

function step<Answer>(state: KeyState, openMs: number, answer: Answer): Step<Answer> {
  const { calls, failures, openUntil, trialUntil } = state;
  const last = Math.max(calls.at(-1)?.[0] ?? 0, failures.at(-1)?.[0] ?? 0);
  const endsAt = Math.max((last + 1) * PART_MS + WINDOW_MS, openUntil === 0 ? 0 : openUntil + openMs, trialUntil);
  return { state, endsAt, answer };
}
