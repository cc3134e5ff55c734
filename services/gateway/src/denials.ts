/** Denied calls in the audit and the log: the first at once, further equal ones of a window as one entry with their number. */
import { type AuditSubject, auditedSubject } from '@svc/runtime/audit.ts';
import { familyOf } from '@svc/contract/subject.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { type AuditPost, createAuditPost } from './audit-post.ts';
import type { Identity } from './identity.ts';

/** Who was denied. `workspace`: whose audit it belongs to; null = the node's. */
export interface DeniedCaller {
  readonly principal: string;
  readonly workspace: string | null;
  readonly subject: AuditSubject;
  /** With whom it shares the number of entries that it may cause; null = an operator, who causes any number. */
  readonly family: string | null;
}

/** All who showed no credential that is one. */
const STRANGERS = 'strangers';

/** Somebody without a good credential. */
export function strangerFrom(address: string): DeniedCaller {
  return { principal: `anon:${address}`, workspace: null, subject: { verified: false }, family: STRANGERS };
}

export interface Denials {
  /** Does nothing for codes that are no denial. */
  note(caller: DeniedCaller, tool: string, code: string, requestId: string): void;
  /** Writes what is still being counted; resolves when it is taken, or when nobody takes it now. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const SWEEPS_PER_WINDOW = 6;
/** Different denials of one family that are counted apart at a time; the rest is one entry for each code. */
const MAX_APART = 60;
const ANY_TOOL = '*';
/** Many different denials at once are written early rather than kept. */
const MAX_KEPT = 10_000;

/** Denials since `openedAt` that are in no entry yet. */
interface Window {
  readonly caller: DeniedCaller;
  readonly tool: string;
  readonly code: string;
  openedAt: number;
  count: number;
  /** Of the last one. */
  requestId: string;
}

const DENIAL_CODES: ReadonlySet<string> = new Set([
  'UNAUTHORIZED',
  'FORBIDDEN',
  'E_QUARANTINED',
  'RLS_DENIED',
  'E_ISLAND_WRITE_DENIED',
]);

export function deniedCallerOf({ principal, operator, token }: Identity): DeniedCaller {
  const subject = token === null ? { verified: false } : auditedSubject({ ...token.subject, verified: true });
  return {
    principal,
    workspace: token?.subject.workspace ?? null,
    subject: operator ? { ...subject, operator: true } : subject,
    family: operator ? null : token === null ? STRANGERS : familyOf(token.subject),
  };
}

/** Windows of each family, of denials that are counted apart. */
function createApart() {
  const apart = new Map<string, number>();
  return {
    add({ caller: { family }, tool }: Window, change: 1 | -1): void {
      if (family === null || tool === ANY_TOOL) return;
      const count = (apart.get(family) ?? 0) + change;
      if (count > 0) apart.set(family, count);
      else apart.delete(family);
    },
    isFull: ({ family }: DeniedCaller): boolean => family !== null && (apart.get(family) ?? 0) >= MAX_APART,
    clear: () => apart.clear(),
  };
}

function writeTo(post: AuditPost, log: StatelessPlatform['log']) {
  return ({ caller, tool, code, requestId }: Window, count: number, firstAt: number): void => {
    const { principal, workspace, subject } = caller;
    const data = { principal, tool, code, count, firstAt };
    log.warn({ ...data, requestId }, 'denied');
    post.send({ event: 'call:denied', workspace, subject, data });
  };
}

function createWindows(clock: StatelessPlatform['clock'], write: ReturnType<typeof writeTo>) {
  const windows = new Map<string, Window>();
  const apart = createApart();

  function end(key: string, window: Window): void {
    windows.delete(key);
    apart.add(window, -1);
  }

  /** Ends the windows that are due; one that counted something is followed by the next. */
  function sweep(isDue: (window: Window) => boolean): void {
    for (const [key, window] of windows) {
      if (!isDue(window)) continue;
      if (window.count === 0) end(key, window);
      else write(window, window.count, window.openedAt);
      window.count = 0;
      window.openedAt = clock.now();
    }
  }

  function writeAll(): void {
    sweep(({ count }) => count > 0);
    windows.clear();
    apart.clear();
  }

  function open(key: string, window: Window): void {
    if (windows.size >= MAX_KEPT) writeAll();
    windows.set(key, window);
    apart.add(window, 1);
    write(window, 1, window.openedAt);
  }

  function count(caller: DeniedCaller, tool: string, code: string, requestId: string): void {
    const key = `${caller.principal} ${tool} ${code}`;
    const known = windows.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.requestId = requestId;
    } else if (apart.isFull(caller) && tool !== ANY_TOOL) {
      count({ ...caller, principal: `family:${caller.family}` }, ANY_TOOL, code, requestId);
    } else open(key, { caller, tool, code, openedAt: clock.now(), count: 0, requestId });
  }

  return { count, sweep, writeAll };
}

export function createDenials(platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'config' | 'ids' | 'log'>): Denials {
  const { clock, config, log } = platform;
  const windowMs = config.SVC_DENIALS_WINDOW_S * 1000;
  const post = createAuditPost(platform);
  const { count, sweep, writeAll } = createWindows(clock, writeTo(post, log));
  const isOver = ({ openedAt }: Window) => clock.now() - openedAt >= windowMs;
  const timer = setInterval(() => sweep(isOver), windowMs / SWEEPS_PER_WINDOW);
  timer.unref();
  return {
    note(caller, tool, code, requestId) {
      if (DENIAL_CODES.has(code)) count(caller, tool, code, requestId);
    },
    async flush() {
      sweep(({ count }) => count > 0);
      await post.flush();
    },
    async close() {
      clearInterval(timer);
      writeAll();
      await post.close();
    },
  };
}
