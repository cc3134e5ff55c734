/** Denials on their way to the audit: nobody waits for them, and equal ones within a minute become one entry with a count. */
import { type AuditEntry, auditSubjectOf, writeAudit } from '@svc/runtime/audit.ts';
import type { AuditRelay } from '@svc/runtime/audit-relay.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { PolicyMode } from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { RowVerdict } from '../ports.ts';

/** A direct read or write that a row rule denied. */
export interface Denial {
  readonly brain: string;
  /** As the caller named it. */
  readonly file: string;
  readonly mode: PolicyMode;
  readonly verdict: RowVerdict;
  readonly subject: Subject;
  readonly operator: boolean;
}

interface Folded {
  readonly entry: AuditEntry;
  /** Since the last writing. */
  count: number;
}

const FOLDED_FOR_MS = 60_000;
const RETRY_MS = 5000;
/** Beyond that, whatever else is denied within the minute is counted under one entry. */
const MOST_KINDS = 10_000;

interface Parts extends Pick<Platform, 'ids' | 'log'> {
  readonly client: SqlClient;
  readonly schema: string;
  readonly audit: Pick<AuditRelay, 'kick'>;
}

export class DenialLog {
  readonly #parts: Parts;
  readonly #folded = new Map<string, Folded>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  note(denial: Denial): void {
    const entry = entryOf(denial);
    const key = this.#folded.size < MOST_KINDS ? JSON.stringify(entry) : '';
    const known = this.#folded.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const first: Folded = { entry, count: 1 };
    this.#folded.set(key, first);
    this.#write([first]);
    this.#later(FOLDED_FOR_MS, () => {
      this.#folded.delete(key);
      this.#write([first]);
    });
  }

  /** Writes what is still to be counted. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#write([...this.#folded.values()]);
    await this.#writing;
  }

  #write(some: readonly Folded[]): void {
    const counts = some.filter(({ count }) => count > 0).map((folded) => ({ folded, count: folded.count }));
    if (counts.length === 0) return;
    for (const { folded } of counts) folded.count = 0;
    const entries = counts.map(({ folded: { entry }, count }) => ({ ...entry, data: { ...entry.data, count } }));
    const { client, schema, audit, ids, log } = this.#parts;
    this.#writing = this.#writing
      .then(() => writeAudit(client, schema, ids, entries))
      .then(() => audit.kick())
      .catch((error: unknown) => {
        log.warn({ err: error, entries: entries.length }, 'denials could not be audited yet');
        for (const { folded, count } of counts) folded.count += count;
        this.#later(RETRY_MS, () => this.#write(some));
      });
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }
}

function entryOf({ brain, file, mode, verdict, subject, operator }: Denial): AuditEntry {
  const { container, because } = verdict;
  return {
    event: 'row:denied',
    workspace: container === null || container === 'public' ? (subject.workspace ?? null) : container,
    subject: auditSubjectOf({ subject, operator }),
    data: { brain, file, mode, because },
  };
}
