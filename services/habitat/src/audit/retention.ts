/**
 * Entries that are old, or too many, leave the audit from the front of their chain. Up to where is signed, so the rest verifies as before, and
 * nobody without the key can remove one more.
 */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import type { ChainEnd } from '../domain/audit-chain.ts';
import { isSound } from '../domain/audit-verdict.ts';
import { cutChain, readOverdue } from '../store/audit-cuts.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import { judgeChain } from './judge-chain.ts';
import type { Seal } from './seal.ts';

interface Retention {
  readonly platform: Pick<Platform, 'database' | 'log'>;
  readonly client: SqlClient;
  readonly seal: Seal;
  readonly file: CheckpointFile;
}

/** What is kept of each chain; 0 = all. */
export interface Kept {
  readonly days: number;
  /** Beyond so many entries, those that are older than a week go. */
  readonly entries: number;
}

/** Entries that one transaction removes. */
const STEP = 5_000;

/** A chain that does not verify keeps all it has: what was done to it must not go with its past. */
export async function cutOldEntries({ platform, client, seal, file }: Retention, kept: Kept): Promise<void> {
  const checkpoints = await file.read();
  for (const { chain, lastOld } of await readOverdue(client, kept)) {
    let steps: ChainEnd[] = [];
    const begin = () => {
      steps = [];
      return ({ seq, hash }: ChainEnd): void => {
        if (seq === lastOld || (seq < lastOld && seq % STEP === 0)) steps.push({ chain, seq, hash });
      };
    };
    const verdict = await judgeChain({ client, seal, begin }, chain, checkpoints.get(chain));
    if (!isSound(verdict)) {
      platform.log.error({ chain, ...verdict }, 'a chain of the audit does not verify: its old entries stay');
      continue;
    }
    for (const step of steps) await withPgTransaction(platform.database.pool, (tx) => cutChain(tx, seal, step));
    const [last] = steps.slice(-1);
    if (last !== undefined) platform.log.info({ cut: last }, 'old entries of the audit were removed');
  }
}
