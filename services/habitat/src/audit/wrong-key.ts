/** A process with another key than the one that signed the audit would break every chain that it adds to. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import { claimChains, readNewestHeads } from '../store/audit-rows.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import { idleKeyOf, type Seal } from './seal.ts';

interface StoredAudit {
  readonly client: SqlClient;
  readonly seal: Seal;
  readonly file: CheckpointFile;
}

/**
 * Throws StartProblem when the key signed none of the stored ends; where there is none yet, it signs the first. One end that it did not sign may have
 * been forged, and is for `svc_audit_verify` to tell: nobody who can write one row keeps the registry from starting. A
 * single node that lost the key it had made itself has nobody who could give it back, so it goes on and says so.
 */
export async function refuseWrongKey(
  { config, database, log }: Pick<Platform, 'config' | 'database' | 'log'>,
  { client, seal, file }: StoredAudit,
): Promise<void> {
  await claimChains(client, seal);
  const heads = await readNewestHeads(client, seal);
  if (heads.some(({ vouched }) => vouched)) return;
  if ((await file.read()).size > 0) return;
  const made = await idleKeyOf(config);
  const besides = made === null ? '' : `, or SVC_AUDIT_KEY_ALSO to base64: and the output of base64 -w0 ${made}`;
  const sentence = `${seal.origin} does not verify the stored heads of the audit: set SVC_AUDIT_KEY to the key that signed them${besides}`;
  if (config.SVC_AUDIT_KEY === undefined && database.exclusive) log.error(sentence);
  else throw new StartProblem(sentence);
}
