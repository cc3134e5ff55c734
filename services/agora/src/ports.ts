/** What agora asks of the ledger of money. */
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { type AskingPlatform, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';

export type Money = Pick<OperationClient<typeof ESCROW, 'agora'>, 'hold' | 'void' | 'states'>;

export function createMoney(platform: AskingPlatform): Money {
  return createOperationClient(platform, ESCROW, 'agora');
}
