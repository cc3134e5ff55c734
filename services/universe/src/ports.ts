/** What the universe asks of the services that keep files and money. */
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { type AskingPlatform, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';

type Brain = OperationClient<typeof BRAIN, 'universe'>;
type Ledger = OperationClient<typeof ESCROW, 'universe'>;

export type Files = Pick<Brain, 'readFiles' | 'listFiles' | 'writeFiles' | 'forgoWrite'>;
export type Leases = Pick<Brain, 'holdLease' | 'giveBackLease'>;
export type Payments = Pick<Ledger, 'open' | 'debit' | 'refund'>;

export interface Ports {
  readonly brain: Files & Leases;
  readonly money: Payments;
}

export function createPorts(platform: AskingPlatform): Ports {
  return {
    brain: createOperationClient(platform, BRAIN, 'universe'),
    money: createOperationClient(platform, ESCROW, 'universe'),
  };
}
