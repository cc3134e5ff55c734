/** A service that pays, at the bus of a cluster: holds, captures and debits as the other services ask for them. */
import { type EscrowAsk, type EscrowOperation, type EscrowReply, escrowSubject } from '@svc/contract/escrow.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import type { Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';

export interface AskOptions {
  /** Whether the call that made the service ask was an operator's. */
  readonly operator?: boolean;
  readonly withinMs?: number;
}

export interface PayingService {
  /** Throws when nobody answered in time. */
  ask<Operation extends EscrowOperation>(
    operation: Operation,
    body: EscrowAsk<Operation>,
    options?: AskOptions,
  ): Promise<EscrowReply>;
  /** The answer; anything else fails the scenario. */
  ok<Operation extends EscrowOperation>(
    operation: Operation,
    body: EscrowAsk<Operation>,
    options?: AskOptions,
  ): Promise<Fields>;
  close(): Promise<void>;
}

const silent = { info() {}, warn() {}, error() {} };

export async function connectPayingService({ servers }: TargetPlace, service = 'market'): Promise<PayingService> {
  if (servers === null) throw new Error('one process has no bus that another could speak on');
  const bus = await connectNatsBus({ urls: [servers.nats], name: service, log: silent });
  const ask: PayingService['ask'] = async (operation, body, { operator = false, withinMs = 10_000 } = {}) => {
    const deadlineAt = Date.now() + withinMs;
    const request = JSON.stringify({ body, deadlineAt, by: 'a-scenario', operator });
    return JSON.parse(await bus.request(escrowSubject(service, operation), request, { deadlineAt })) as EscrowReply;
  };
  return {
    ask,
    async ok(operation, body, options) {
      const reply = await ask(operation, body, options);
      if (!reply.ok) throw new Error(`${operation} ${JSON.stringify(body)}: ${JSON.stringify(reply)}`);
      return reply.answer as Fields;
    },
    close: () => bus.close(),
  };
}

/** The code of a "no"; null for an answer. */
export function refusedBy(reply: EscrowReply): string | null {
  return reply.ok ? null : reply.code;
}
