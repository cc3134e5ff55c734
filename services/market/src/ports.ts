/** What the market asks of others: the ledger for money, the registry for trust. */
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { type AskingPlatform, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';

type Ledger = OperationClient<typeof ESCROW, 'market'>;
type Registry = OperationClient<typeof HABITAT, 'market'>;

export type Money = Pick<Ledger, 'hold' | 'capture' | 'void' | 'debit' | 'states' | 'live'>;
export type Trust = Pick<Registry, 'parties' | 'recordTrade'>;

export interface Ports {
  readonly money: Money;
  readonly trust: Trust;
}

export function createPorts(platform: AskingPlatform): Ports {
  return {
    money: createOperationClient(platform, ESCROW, 'market'),
    trust: createOperationClient(platform, HABITAT, 'market'),
  };
}
