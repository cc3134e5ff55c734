/**
 * The steps of a restore. Each may be repeated, by anybody, at any time: money moves once under the restore's id, files are
 * written once under the id and the number of the attempt, and a row changes only from what the step was decided on.
 */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import type { AskOptions } from '@svc/runtime/operations.ts';
import type { UniverseStore } from '../universe-store.ts';
import type { Ports } from '../ports.ts';
import {
  FIRST_LIMIT,
  holderOf,
  leaseOf,
  lineOf,
  nextStep,
  owesAfterAbort,
  PRICE,
  SINK,
  type Step,
} from './domain/restore.ts';
import type { Place } from './manifests.ts';
import {
  beginAttempt,
  type Ending,
  markAborted,
  markBilled,
  markSettled,
  markWritten,
  oweRefund,
  readRestore,
  type RestoreRow,
} from './restore-rows.ts';

/** A process that is killed keeps others out for as long. */
export const LEASE_MS = 5000;
/** A lease that ran out is taken again, within one go. */
const ATTEMPTS = 3;
const RETRIED: readonly RefusalCode[] = ['E_LOCKED', 'E_FENCED'];

export interface StepParts {
  readonly store: Pick<UniverseStore, 'client'>;
  readonly ports: Ports;
}

/** Under what the files of a restore are written; `lease` null = under the caller's own. */
export interface Held {
  readonly lease: string | null;
  readonly fence: number;
}

/** How far this go comes: the last row is left to be written, somebody else has the lease, or it is over. */
export interface Gone {
  readonly row: RestoreRow;
  readonly left: Extract<Step, 'finish'> | 'wait' | null;
}

export interface Going extends AskOptions {
  /** The lease, where it was just taken. */
  readonly held?: Held;
}

/**
 * Goes on until only the last row is left to be written; what lease it takes for that, beside the given one, it gives back.
 * Throws what leaves the outcome open.
 */
export async function goOn(parts: StepParts, restoreId: string, { held, ...asking }: Going = {}): Promise<Gone> {
  let under = held ?? null;
  let mayHold: RestoreRow | null = null;
  try {
    for (let writes = 0; ; ) {
      const row = await readRestore(parts.store.client, restoreId);
      const step = nextStep(row);
      if (step === null || step === 'finish') return { row, left: step };
      if (step === 'debit') await debit(parts, row, asking);
      else if (step === 'refund') await refund(parts, row, asking);
      else {
        if (under === null) mayHold = row;
        if (writes === ATTEMPTS || (await write(parts, row, under, asking)) === 'wait') return { row, left: 'wait' };
        writes += 1;
        under = null;
      }
    }
  } finally {
    if (mayHold !== null) await giveBack(parts.ports, placeOf(mayHold), restoreId);
  }
}

/** It ends by itself before long where nobody answers. */
export async function giveBack({ brain }: Ports, place: Place, restoreId: string): Promise<void> {
  await brain.giveBackLease({ ...place, lease: leaseOf(restoreId) }).catch(() => null);
}

function asActor({ actor }: Pick<RestoreRow, 'actor'>, asking: AskOptions): AskOptions {
  return { ...asking, by: actor };
}

function payment({ actor, restoreId }: RestoreRow) {
  return { payer: { agent: lineOf(actor) }, amount: PRICE, payee: SINK, ref: restoreId };
}

async function debit(
  { store: { client }, ports: { money } }: StepParts,
  row: RestoreRow,
  asking: AskOptions,
): Promise<void> {
  const account = lineOf(row.actor);
  const asked = asActor(row, asking);
  // One that somebody opened with another limit is what there is.
  await money.open({ account, limit: FIRST_LIMIT, ref: `open:${account}` }, asked);
  const paid = await money.debit(payment(row), asked);
  if (!paid.ok) {
    const { available = 0 } = paid.details ?? {};
    const cause = paid.code === 'E_BUDGET' ? {} : { cause: paid.code };
    await abort(client, row, { refusal: 'E_SNAPSHOT_BUDGET', details: { available, ...cause } }, true);
    return;
  }
  const { entryId } = paid.value;
  // Somebody else may have given it up in the meantime.
  if (!(await markBilled(client, row, entryId))) await oweRefund(client, row.restoreId, entryId);
}

async function refund(
  { store: { client }, ports: { money } }: StepParts,
  row: RestoreRow,
  asking: AskOptions,
): Promise<void> {
  const asked = asActor(row, asking);
  const entryId = row.entryId ?? (await entryOf(money, row, asked));
  if (entryId !== null) {
    const given = await money.refund({ entryId, ref: `${row.restoreId}:refund` }, asked);
    if (!given.ok && given.code !== 'E_REFUNDED') {
      throw new CallError('SERVICE_UNAVAILABLE', 'A refund waits for the ledger.', { cause: given.code });
    }
  }
  await markSettled(client, row.restoreId);
}

/** Whether the debit came is not known: asked again it has the same entry, and if it had not come, that is undone too. */
async function entryOf(money: Ports['money'], row: RestoreRow, asked: AskOptions): Promise<string | null> {
  const paid = await money.debit(payment(row), asked);
  return paid.ok ? paid.value.entryId : null;
}

async function write(
  parts: StepParts,
  row: RestoreRow,
  given: Held | null,
  asking: AskOptions,
): Promise<'wait' | 'moved'> {
  const { brain } = parts.ports;
  try {
    const held = given ?? (await take(brain, row, asking));
    if (row.attempt > 0) return await writeAttempt(parts, row, held, asking);
    if (held === null) return 'wait';
    const begun = await beginAttempt(parts.store.client, row);
    return begun ? await writeAttempt(parts, { ...row, attempt: 1 }, held, asking) : 'moved';
  } catch (error) {
    if (!(error instanceof CallError) || !isFinal(error)) throw error;
    await giveUp(parts, await readRestore(parts.store.client, row.restoreId), { failure: error.code }, asking);
    return 'moved';
  }
}

/** Null = somebody else has it. */
async function take(brain: Ports['brain'], row: RestoreRow, asking: AskOptions): Promise<Held | null> {
  const { restoreId } = row;
  const wish = { lease: leaseOf(restoreId), holder: holderOf(restoreId), ttlMs: LEASE_MS };
  const held = await brain.holdLease({ ...placeOf(row), ...wish }, asking);
  return held.ok ? held.value : null;
}

/** Without the lease too: what was written before is learned so. */
async function writeAttempt(
  { store: { client }, ports: { brain } }: StepParts,
  row: RestoreRow,
  held: Held | null,
  asking: AskOptions,
): Promise<'wait' | 'moved'> {
  const { lease, fence } = held ?? { lease: leaseOf(row.restoreId), fence: null };
  const files = row.files.map((file) => ({ ...file, ifMatch: null }));
  const written = await brain.writeFiles({ ...placeOf(row), lease, fence, ref: refOf(row), files }, asking);
  if (written.ok) await markWritten(client, row, written.value.files);
  else if (!RETRIED.includes(written.code)) {
    await abort(client, row, { refusal: 'E_STATE_WRITE', details: { ...written.details, cause: written.code } });
  } else {
    await beginAttempt(client, row);
    return held === null ? 'wait' : 'moved';
  }
  return 'moved';
}

/** Unless it was written: an attempt whose answer was lost is asked for, and if it did not come it never will. */
export async function giveUp(
  { store: { client }, ports: { brain } }: StepParts,
  row: RestoreRow,
  ending: Ending,
  asking: AskOptions = {},
): Promise<void> {
  const { written } = row.attempt === 0 ? { written: null } : await brain.forgoWrite({ ref: refOf(row) }, asking);
  if (written === null) await abort(client, row, ending);
  else await markWritten(client, row, written);
}

/** The caller may not, or may not any more: nothing was written, and asking again changes nothing. */
function isFinal({ status }: CallError): boolean {
  return status < 500;
}

function placeOf({ bearer: on, brain, branch }: Pick<RestoreRow, 'bearer' | 'brain' | 'branch'>): Place {
  return { on, brain, branch };
}

function refOf({ restoreId, attempt }: Pick<RestoreRow, 'restoreId' | 'attempt'>): string {
  return `${restoreId}:${attempt}`;
}

/** `refused`: the debit was, so that nothing can be owed. */
function abort(
  client: StepParts['store']['client'],
  row: RestoreRow,
  ending: Ending,
  refused = false,
): Promise<boolean> {
  return markAborted(client, row, ending, owesAfterAbort(row, refused));
}
