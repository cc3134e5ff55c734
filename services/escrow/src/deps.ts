import { toolFor } from '@svc/contract/tool.ts';
import type { AccountOpening } from './account-opening.ts';
import type { Registry } from './ports.ts';
import type { Qos } from './qos/qos.ts';
import type { Reconciliation } from './store/reconciliation.ts';
import type { LedgerReads } from './store/ledger-reads.ts';
import type { LedgerStore } from './store/ledger-store.ts';

/** What the ledger's tools work with. */
export interface EscrowDeps {
  readonly ledger: LedgerStore;
  readonly reads: LedgerReads;
  readonly audit: Reconciliation;
  readonly registry: Registry;
  readonly accountOpening: AccountOpening;
  readonly qos: Qos;
}

export const defineTool = toolFor<EscrowDeps>();
