/** Holds the rows of one chain against its signatures. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { type AuditRow, ChainAuditor, type ChainVerdict, type Checkpoints } from '../domain/audit-verdict.ts';
import { readCut } from '../store/audit-cuts.ts';
import { readEntries, readHead, readStray } from '../store/audit-rows.ts';
import type { Seal } from './seal.ts';

interface Judging {
  readonly client: SqlClient;
  readonly seal: Seal;
  /** Sees each row that is judged, in order; what it saw counts only from the last time that seq 0 was begun with. */
  readonly begin?: () => (row: AuditRow) => void;
}

const NONE: Checkpoints = new Map();
/** A chain is cut in steps; who reads it meanwhile begins again. */
const ATTEMPTS = 20;

export async function judgeChain(
  { client, seal, begin }: Judging,
  chain: string,
  checkpoints = NONE,
): Promise<ChainVerdict> {
  for (let attempt = 1; ; attempt += 1) {
    const cut = await readCut(client, seal, chain);
    const head = await readHead(client, seal, chain);
    const auditor = new ChainAuditor({ chain, cut, head, checkpoints });
    const see = begin?.();
    for await (const row of readEntries(client, chain, { after: null, to: head?.seq ?? 0 })) {
      auditor.take(row);
      see?.(row);
    }
    const verdict = auditor.verdict(await readStray(client, chain));
    const after = await readCut(client, seal, chain);
    if (attempt === ATTEMPTS || after?.seq === cut?.seq) return verdict;
  }
}
