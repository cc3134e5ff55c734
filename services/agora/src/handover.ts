/** What other services hand over arrives once, however often it is sent: the reference is a row beside its effect. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';

export interface Handover {
  readonly asker: string;
  readonly ref: string;
}

/** The answer of the first time, or that of `work` now. A twin in flight is waited for. */
export async function onceOfHandover<Answer>(
  tx: SqlClient,
  { asker, ref }: Handover,
  work: () => Promise<Answer>,
): Promise<Decision<Answer, never>> {
  const begun = await tx.$queryRawUnsafe<unknown[]>(
    `INSERT INTO agora.handovers (asker, ref, answer, at) VALUES ($1, $2, 'null', now())
     ON CONFLICT (asker, ref) DO NOTHING RETURNING 1`,
    asker,
    ref,
  );
  if (begun.length === 0) {
    const [row] = await tx.$queryRawUnsafe<{ answer: Answer }[]>(
      'SELECT answer FROM agora.handovers WHERE asker = $1 AND ref = $2',
      asker,
      ref,
    );
    if (row === undefined) throw new Error('a hand-over that is there and cannot be read');
    return allow(row.answer);
  }
  const answer = await work();
  await tx.$executeRawUnsafe(
    'UPDATE agora.handovers SET answer = $3::json WHERE asker = $1 AND ref = $2',
    asker,
    ref,
    JSON.stringify(answer),
  );
  return allow(answer);
}
