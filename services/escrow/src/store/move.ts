/** One request to the ledger, as the writer folds it with others into a transaction. */
import type { Decision } from '@svc/contract/decision.ts';
import type { RefusalCode } from '@svc/contract/codes.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { AuditSubject } from '@svc/runtime/audit.ts';
import type { Book } from '../domain/book.ts';
import type { EntryKind } from '../domain/entry.ts';
import type { HoldName } from '../domain/hold.ts';
import type { Ruling } from '../domain/hold-rules.ts';
import type { Member } from '../domain/member.ts';

/** Rows that a decision reads. Those that a named hold or entry leads to are found by the store. */
export interface Needs {
  readonly accounts?: readonly string[];
  readonly members?: readonly Pick<Member, 'workspaceId' | 'agentId'>[];
  readonly holds?: readonly HoldName[];
  /** Ids under which the live holds of any caller are looked for. */
  readonly holdIds?: readonly string[];
  /** Entries that are to be refunded. */
  readonly paid?: readonly string[];
  readonly references?: readonly { readonly kind: EntryKind; readonly ref: string }[];
  /** Whose live holds are counted. */
  readonly owner?: string;
}

/** On whose behalf, and for how long it makes sense. */
export interface MoveCall {
  readonly deadlineAt: number;
  readonly idempotency: IdempotencyScope | null;
  readonly subject: AuditSubject;
}

export interface Move<Answer = unknown, Code extends RefusalCode = RefusalCode> {
  readonly call: MoveCall;
  readonly needs: Needs;
  decide(book: Book): Ruling<Answer, Code>;
}

export interface Outcome<Answer = unknown, Code extends RefusalCode = RefusalCode> {
  readonly decision: Decision<Answer, Code>;
  readonly replayed: boolean;
}

/** Rows changed between two statements of a transaction: it starts again, as after any serialization failure. */
export class Overtaken extends Error {
  readonly code = '40001';
}
