/** Denied calls in the audit and the log: the first at once, further equal ones of a minute as one entry with their number. */
import { type AuditSubject, auditedSubject } from '@svc/runtime/audit.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createAuditPost } from './audit-post.ts';
import type { Identity } from './identity.ts';

/** Who was denied. `workspace`: whose audit it belongs to; null = the node's. */
export interface DeniedCaller {
  readonly principal: string;
  readonly workspace: string | null;
  readonly subject: AuditSubject;
}

export interface Denials {
  /** Does nothing for codes that are no denial. */
  note(caller: DeniedCaller, tool: string, code: string, requestId: string): void;
  /** Writes what is still being counted; resolves when it is taken, or when nobody takes it now. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const FOLD_MS = 60_000;
const SWEEP_MS = 10_000;
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
  };
}

export function createDenials(platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'ids' | 'log'>): Denials {
  const { clock, log } = platform;
  const post = createAuditPost(platform);
  const windows = new Map<string, Window>();

  function write({ caller, tool, code, requestId }: Window, count: number, firstAt: number): void {
    const { principal, workspace, subject } = caller;
    const data = { principal, tool, code, count, firstAt };
    log.warn({ ...data, requestId }, 'denied');
    post.send({ event: 'call:denied', workspace, subject, data });
  }

  /** Ends the windows that are due; one that counted something is followed by the next. */
  function sweep(isDue: (window: Window) => boolean): void {
    for (const [key, window] of windows) {
      if (!isDue(window)) continue;
      if (window.count === 0) windows.delete(key);
      else write(window, window.count, window.openedAt);
      window.count = 0;
      window.openedAt = clock.now();
    }
  }

  function writeAll(): void {
    sweep(({ count }) => count > 0);
    windows.clear();
  }

  function open(key: string, window: Window): void {
    if (windows.size >= MAX_KEPT) writeAll();
    windows.set(key, window);
    write(window, 1, window.openedAt);
  }

  const timer = setInterval(() => sweep(({ openedAt }) => clock.now() - openedAt >= FOLD_MS), SWEEP_MS);
  timer.unref();
  return {
    note(caller, tool, code, requestId) {
      if (!DENIAL_CODES.has(code)) return;
      const key = `${caller.principal} ${tool} ${code}`;
      const known = windows.get(key);
      if (known === undefined) return open(key, { caller, tool, code, openedAt: clock.now(), count: 0, requestId });
      known.count += 1;
      known.requestId = requestId;
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
