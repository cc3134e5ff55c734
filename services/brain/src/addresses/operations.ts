/** Files with an address: written and remembered in one step. */
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { defineOperation, onBranch, once } from '../operations/operation.ts';
import { auditedWrite, inStep, STEP_REFUSALS, type Write } from '../operations/step.ts';
import type { Step } from '../writer/branch-writer.ts';
import { FileOutcome, type Staging } from '../writer/staging.ts';
import { addressOf } from './domain/address.ts';
import { keepPlace } from './place-rows.ts';

const Remembered = FileOutcome.extend({ barcode: z.string() });
type Remembered = Readonly<z.output<typeof Remembered>>;

const REMEMBER_REFUSALS = [...STEP_REFUSALS, 'E_CONFLICT', 'E_QUOTA', 'E_ADDRESS_COLLISION'] as const;

const RememberQuestion = z.strictObject({
  ...onBranch,
  key: z.string(),
  path: z.string(),
  content: z.string(),
  /** As for any write of a file. */
  ifMatch: z.string().nullable(),
});

export const remember = defineOperation({
  name: 'remember',
  effect: 'write',
  namesCommits: false,
  question: RememberQuestion,
  answer: once(Remembered, REMEMBER_REFUSALS),
  run: (served, { branch, ...wish }) =>
    auditedWrite(served, wish.path, () => {
      const write = { ...served, branch };
      return inStep(write, (staging) => rememberStaged(write, staging, wish));
    }),
});

type Refusal = 'E_CONFLICT' | 'E_QUOTA' | 'E_ADDRESS_COLLISION';

function rememberStaged(
  write: Write,
  staging: Staging,
  { key, path, content, ifMatch }: Omit<z.output<typeof RememberQuestion>, 'branch'>,
): Decision<Step<Remembered, Refusal>, Refusal> {
  const { rows, context, brain } = write;
  const outcome = staging.judge({ path, content: Buffer.from(content, 'utf8'), ifMatch, rows }, context);
  if (!outcome.ok) return outcome;
  const { file } = outcome.value;
  const { barcode, sha256 } = addressOf(content);
  const place = { brainId: brain.context.homes.home.id, path: file, barcode, sha256, key };
  return allow({
    value: { ...outcome.value, barcode },
    events: [],
    async record(transaction: SqlClient) {
      const kept = await keepPlace(transaction, place);
      if ('code' in kept) return kept;
      if (kept.isNew) await brain.context.outbox.write(transaction, [told(write, file, { barcode, key })]);
      return null;
    },
  });
}

/** The address of a text of which some may not see all would tell whether they guessed it. */
function told(
  { brain, context, rows }: Write,
  file: string,
  { barcode, key }: { barcode: string; key: string },
): NewEvent {
  const { name } = brain.context;
  const shown = rows.hides(file) ? null : barcode;
  const resources = eventResources(brain.context, file);
  return { name: 'address:stored', payload: { brain: name, barcode: shown, key, by: context.actor, resources } };
}
