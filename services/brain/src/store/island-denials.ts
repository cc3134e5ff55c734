/** What an island's boundary denied is told and audited, whatever becomes of the call that it denied. */
import { identityOf } from '@svc/contract/subject.ts';
import type { EventPayload } from '@svc/contract/events.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { type AuditEntry, auditSubjectOf, writeAudit } from '@svc/runtime/audit.ts';
import type { AuditRelay } from '@svc/runtime/audit-relay.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { NewEvent, Outbox } from '@svc/runtime/outbox.ts';

export type IslandDenial = Omit<EventPayload<'island:denied'>, 'userId'>;

/** Durable when it resolves. */
export type TellDenials = (
  caller: Pick<Caller, 'subject' | 'operator'>,
  denials: readonly IslandDenial[],
) => Promise<void>;

interface DenialParts {
  readonly schema: string;
  readonly outbox: Outbox;
  readonly audit: Pick<AuditRelay, 'kick'>;
  readonly ids: Ids;
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
}

export function createTellDenials({ schema, outbox, audit, ids, transact }: DenialParts): TellDenials {
  return async (caller, denials) => {
    const userId = identityOf(caller.subject);
    const events: NewEvent[] = [];
    const entries: AuditEntry[] = [];
    for (const denial of denials) {
      const workspace = denial.container === 'public' ? null : denial.container;
      const payload = { ...denial, ...(userId === null ? {} : { userId }) };
      events.push({ name: 'island:denied', payload, ...(workspace === null ? {} : { workspace }) });
      entries.push({ event: 'island:denied', workspace, subject: auditSubjectOf(caller), data: { ...denial } });
    }
    await transact(async (transaction) => {
      await outbox.write(transaction, events);
      await writeAudit(transaction, schema, ids, entries);
    });
    outbox.kick();
    audit.kick();
  };
}
