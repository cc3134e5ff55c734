/** The audit of this node: appends to its chains, vouches for their ends, and judges them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createTurn } from '@svc/runtime/turns.ts';
import { type ChainedEntry, chainOf } from '../domain/audit-chain.ts';
import type { ChainVerdict } from '../domain/audit-verdict.ts';
import { signCutsAnew } from '../store/audit-cuts.ts';
import { type Appended, appendEntries, noteSaved, readChains, readUnsaved, signAnew } from '../store/audit-rows.ts';
import { createCheckpointFile } from './checkpoint-file.ts';
import { judgeChain } from './judge-chain.ts';
import { neededCheckpoints } from './needed-checkpoints.ts';
import { cutOldEntries, type Kept } from './retention.ts';
import { openAuditDirectory, openSeal } from './seal.ts';
import { refuseWrongKey } from './wrong-key.ts';

interface JudgedChain extends ChainVerdict {
  readonly chain: string;
}

export interface Audit {
  /** Throws StartProblem when the key of this process signed none of the stored ends. */
  assertKey(): Promise<void>;
  /** In the caller's transaction; call `appended` after it committed. Entries whose ids are there already are left out. */
  append(tx: SqlClient, entries: readonly Appended[]): Promise<ChainedEntry[]>;
  /** Saves the end of each chain that began or came to a hundred more, without anybody waiting for it. */
  appended(entries: readonly ChainedEntry[]): void;
  /** Saves the ends of all chains that moved. */
  saveAll(): Promise<void>;
  /** `only` = one chain; null = all. */
  judge(only: string | null): Promise<JudgedChain[]>;
  /** Removes what is older or more than that from the front of the chains; those of a chain that is broken stay. */
  cutOld(kept: Kept): Promise<void>;
  /** Leaves out checkpoints that tell nothing any more, where there are many. */
  thinCheckpoints(): Promise<void>;
  close(): Promise<void>;
}

const SAVE_EVERY = 100;

export async function openAudit(platform: Platform, client: SqlClient): Promise<Audit> {
  const { config, log } = platform;
  const directory = await openAuditDirectory(platform);
  const seal = await openSeal(config, directory);
  const file = createCheckpointFile(platform, seal, directory);
  const inTurn = createTurn();

  async function saveNow(chains: readonly string[] | null): Promise<void> {
    // all checkpoints of the other key prove nothing once it counts no more: the ends are saved again
    if (chains === null && seal.isChanging) await saveAnew();
    const ends = await readUnsaved(client, seal, chains);
    if (ends.length === 0) return;
    await file.append(ends);
    await noteSaved(client, ends);
  }

  async function saveAnew(): Promise<void> {
    await signCutsAnew(client, seal);
    const ends = await signAnew(client, seal);
    if (ends.length > 0) await file.append(ends);
  }

  /** One after the other, so that a chain is not saved twice at once. */
  function save(chains: readonly string[] | null): Promise<void> {
    return inTurn(() => saveNow(chains)).catch((error: unknown) => log.warn({ err: error }, 'no audit checkpoint'));
  }

  return {
    assertKey: () => refuseWrongKey(platform, { client, seal, file }),
    append: (tx, entries) => appendEntries(tx, seal, entries),
    appended(entries) {
      const due = entries.filter(({ seq }) => seq === 1 || seq % SAVE_EVERY === 0);
      if (due.length > 0) void save([...new Set(due.map(({ workspace }) => chainOf(workspace)))]);
    },
    saveAll: () => save(null),
    async judge(only) {
      // The checkpoints first: none of them lies beyond an end that is read later.
      const checkpoints = await file.read();
      const chains = new Set([...checkpoints.keys()].filter((chain) => only === null || chain === only));
      for (const chain of await readChains(client, only)) chains.add(chain);
      const judged: JudgedChain[] = [];
      for (const chain of [...chains].sort())
        judged.push({ chain, ...(await judgeChain({ client, seal }, chain, checkpoints.get(chain))) });
      return judged;
    },
    cutOld: (kept) => cutOldEntries({ platform, client, seal, file }, kept),
    thinCheckpoints: () =>
      file.thin(async (known) => {
        const needed = await neededCheckpoints({ client, seal }, known);
        if (needed === null) log.error({ chain: known.chain }, 'checkpoints that the audit contradicts stay');
        return needed;
      }),
    async close() {
      await save(null);
    },
  };
}
