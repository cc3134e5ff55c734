import { toolFor } from '@svc/contract/tool.ts';
import type { Openings } from './openings.ts';
import type { Registry } from './ports.ts';
import type { Qos } from './qos/qos.ts';
import type { LedgerAudit } from './store/ledger-audit.ts';
import type { LedgerReads } from './store/ledger-reads.ts';
import type { LedgerStore } from './store/ledger-store.ts';

/** What the ledger's tools work with. */
export interface EscrowDeps {
  readonly ledger: LedgerStore;
  readonly reads: LedgerReads;
  readonly audit: LedgerAudit;
  readonly registry: Registry;
  readonly openings: Openings;
  readonly qos: Qos;
  /** Micro-credits. */
  readonly defaultBudget: bigint;
  /** Draws of one member a minute; 0 = any number. */
  readonly drawsPerMinute: number;
}

export const defineTool = toolFor<EscrowDeps>();
