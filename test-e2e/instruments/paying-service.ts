/** A service that pays, at the bus of a cluster: holds, captures and debits as the other services ask for them. */
import { CallError } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { OperationOf, Question } from '@svc/contract/operation.ts';
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { type AskOptions, createOperationClient } from '@svc/runtime/operations.ts';
import type { Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';

interface PaymentOptions {
  /** Whether the call that made the service ask was an operator's. */
  readonly operator?: boolean;
  readonly withinMs?: number;
}

/** Call errors and refusals are told alike. */
export type EscrowReply = Decision<Fields, string>;

type Ask<Answer> = <Name extends OperationOf<typeof ESCROW>>(
  operation: Name,
  question: Question<typeof ESCROW, Name>,
  options?: PaymentOptions,
) => Promise<Answer>;

export interface PayingService {
  readonly ask: Ask<EscrowReply>;
  /** The answer; anything else fails the scenario. */
  readonly ok: Ask<Fields>;
  close(): Promise<void>;
}

const silent = { info() {}, warn() {}, error() {} };

export async function connectPayingService({ servers }: TargetPlace, service = 'market'): Promise<PayingService> {
  if (servers === null) throw new Error('one process has no bus that another could speak on');
  const bus = await connectNatsBus({ urls: [servers.nats], name: service, log: silent });
  const client = createOperationClient<typeof ESCROW, string>({ bus, clock: systemClock }, ESCROW, service);
  const ask: PayingService['ask'] = async (operation, question, { operator = false, withinMs = 10_000 } = {}) => {
    const options = { deadlineAt: Date.now() + withinMs, by: 'a-scenario', operator };
    const perform = client[operation as keyof typeof client] as AskAny;
    try {
      const outcome = await perform(question, options);
      return ESCROW.declared[operation].effect === 'read'
        ? { ok: true, value: outcome as Fields }
        : (outcome as EscrowReply);
    } catch (error) {
      if (error instanceof CallError) return { ok: false, code: error.code };
      throw error;
    }
  };
  return {
    ask,
    async ok(operation, question, options) {
      const reply = await ask(operation, question, options);
      if (!reply.ok) throw new Error(`${operation} ${JSON.stringify(question)}: ${JSON.stringify(reply)}`);
      return reply.value;
    },
    close: () => bus.close(),
  };
}

type AskAny = (question: unknown, options: AskOptions) => Promise<unknown>;

/** The code of a "no"; null for an answer. */
export function refusedBy(reply: EscrowReply): string | null {
  return reply.ok ? null : reply.code;
}
