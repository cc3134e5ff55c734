/** Which checkpoints of a chain can go: those of entries that lead, hash by hash, to the newest one. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { ChainEnd } from '../domain/audit-chain.ts';
import { ChainAuditor, type Checkpoints, isSound, type KnownCut } from '../domain/audit-verdict.ts';
import { thinnedSeqs } from '../domain/checkpoint-thinning.ts';
import { readCut } from '../store/audit-cuts.ts';
import { readEntries, readHashAt } from '../store/audit-rows.ts';
import type { KnownCheckpoints } from './checkpoint-file.ts';
import type { Seal } from './seal.ts';

/**
 * Their seqs; null when nothing can be spared, because one of them contradicts the chain or it does not reach the newest.
 * Reads what was added since the chain was judged before.
 */
export async function neededCheckpoints(
  { client, seal }: { readonly client: SqlClient; readonly seal: Seal },
  { chain, checkpoints, judged }: KnownCheckpoints,
): Promise<ReadonlySet<number> | null> {
  const seqs = [...checkpoints.keys()].sort((a, b) => a - b);
  const newest = seqs.at(-1);
  const [hash, ...others] = newest === undefined ? [] : (checkpoints.get(newest) ?? []);
  if (newest === undefined || hash === undefined || others.length > 0) return null;
  const cut = await readCut(client, seal, chain);
  if (cut?.vouched === false) return null;
  if (cut !== null && cut.seq >= newest) return new Set([newest]);
  const from = await startOf(client, chain, { cut, judged });
  if (from === 'contradicted') return null;
  const leads = await leadsTo(client, { chain, seq: newest, hash }, { from, checkpoints });
  return leads ? thinnedSeqs(seqs.filter((seq) => seq > (cut?.seq ?? 0))) : null;
}

async function leadsTo(
  client: SqlClient,
  end: ChainEnd,
  { from, checkpoints }: { readonly from: KnownCut | null; readonly checkpoints: Checkpoints },
): Promise<boolean> {
  const auditor = new ChainAuditor({
    chain: end.chain,
    cut: from,
    head: { ...end, vouched: true, checkpointSeq: end.seq },
    checkpoints: new Map([...checkpoints].filter(([seq]) => seq >= (from?.seq ?? 0))),
  });
  const rows = readEntries(client, end.chain, { after: from?.seq ?? null, to: end.seq });
  for await (const row of rows) auditor.take(row);
  return isSound(auditor.verdict(null));
}

/** Behind which entry to begin: what lies before it is vouched for. Null = at the beginning of the chain. */
async function startOf(
  client: SqlClient,
  chain: string,
  { cut, judged }: { readonly cut: KnownCut | null; readonly judged: ChainEnd | null },
): Promise<KnownCut | null | 'contradicted'> {
  if (judged === null || (cut !== null && cut.seq >= judged.seq)) return cut;
  const hash = await readHashAt(client, chain, judged.seq);
  return hash === judged.hash ? { ...judged, vouched: true } : 'contradicted';
}
