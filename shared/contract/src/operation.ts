/** What one service does for another over the bus. The declaration is data: who serves, who asks and who may ask read it. */
import { z } from 'zod';
import type { RefusalCode } from './codes.ts';
import type { Decision } from './decision.ts';
import { SubjectId } from './names.ts';
import type { CallFailure } from './rpc.ts';
import type { Effect } from './tool.ts';

export interface OperationDeclaration {
  /** A reply to `read` or `write-idempotent` that is lost is asked for again; after a `write`, E_OUTCOME_UNKNOWN is thrown. */
  readonly effect: Exclude<Effect, 'external'>;
  readonly question: z.ZodType;
  readonly answer: z.ZodType;
  /** With codes the outcome is a decision; without them it is the answer itself. */
  readonly refuses?: readonly RefusalCode[];
  /** The services that may ask; absent = every one. */
  readonly askers?: readonly string[];
  /** What is asked for in one turn of the event loop crosses the bus as one message; each question has its own outcome. */
  readonly gathered?: true;
  /**
   * Members of the question that the version before refuses. Beside a process of that version it is asked without them, so
   * what they are for has to be no more than missing then.
   */
  readonly newer?: readonly string[];
}

type Declarations = Readonly<Record<string, OperationDeclaration>>;

/** The operations of one service. */
export interface Operations<Declared extends Declarations = Declarations> {
  readonly service: string;
  readonly declared: Declared;
}

export function defineOperations<const Declared extends Declarations>(
  service: string,
  declared: Declared,
): Operations<Declared> {
  return { service, declared };
}

export type OperationOf<Of extends Operations> = keyof Of['declared'] & string;
type Declaration<Of extends Operations, Name extends OperationOf<Of>> = Of['declared'][Name];
/** As it is asked; the handler sees it parsed, as `ParsedQuestion`. */
export type Question<Of extends Operations, Name extends OperationOf<Of>> = z.input<Declaration<Of, Name>['question']>;
export type ParsedQuestion<Of extends Operations, Name extends OperationOf<Of>> = z.output<
  Declaration<Of, Name>['question']
>;
export type Answer<Of extends Operations, Name extends OperationOf<Of>> = z.output<Declaration<Of, Name>['answer']>;
export type Outcome<Of extends Operations, Name extends OperationOf<Of>> =
  Declaration<Of, Name> extends { readonly refuses: readonly (infer Code extends RefusalCode)[] }
    ? Decision<Answer<Of, Name>, Code>
    : Answer<Of, Name>;

/** Those that the service `Asker` may ask for. */
export type AskedBy<Of extends Operations, Asker extends string> = {
  [Name in OperationOf<Of>]: Declaration<Of, Name> extends { readonly askers: readonly (infer Named)[] }
    ? Asker extends Named
      ? Name
      : never
    : Name;
}[OperationOf<Of>];

export function mayAsk({ askers }: OperationDeclaration, service: string): boolean {
  return askers === undefined || askers.includes(service);
}

/** What crosses the bus. `by` and `operator`: on whose behalf the service asks, for the audit. */
export const OperationRequest = z.strictObject({
  /** Milliseconds since the epoch; what is more than a `read` is not begun after it. */
  deadlineAt: z.number(),
  by: SubjectId.optional(),
  operator: z.literal(true).optional(),
  question: z.unknown(),
});

/** What is asked for at once crosses in messages of so many, each of which is an `OperationRequest`. */
export const MOST_GATHERED = 64;
export const GatheredRequest = z.strictObject({ many: z.array(z.unknown()).min(1).max(MOST_GATHERED) });

/** To each of them, in their order. */
export interface GatheredReply {
  readonly replies: readonly OperationReply[];
}

export type OperationReply =
  | { readonly answer: unknown }
  | {
      readonly refusal: {
        readonly code: RefusalCode;
        readonly message?: string;
        readonly details?: Record<string, unknown>;
      };
    }
  | { readonly failure: CallFailure };

/**
 * Subjects: `op.<service>.<asker>.<operation>` for any process of the service, with a process at the end for that one
 * alone. The asker is part of it, so that the bus lets nobody ask in the name of another.
 */
export const OPERATION_SUBJECTS = {
  one: (service: string, asker: string, operation: string, process?: string) =>
    `op.${service}.${asker}.${operation}${process === undefined ? '' : `.${process}`}`,
  servedBy: (service: string, process?: string) => `op.${service}.*.*${process === undefined ? '' : `.${process}`}`,
} as const;
