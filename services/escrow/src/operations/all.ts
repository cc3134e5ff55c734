import { accountOperations } from './accounts.ts';
import type { EscrowHandlers } from './asked.ts';
import { holdOperations } from './holds.ts';
import { paymentOperations } from './payments.ts';

export const escrowOperations: EscrowHandlers = { ...holdOperations, ...paymentOperations, ...accountOperations };
