/** The keys of a brain's own on a branch, as one caller sees its file, and changes of them in a step of the writer. */
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { seen, shownFile } from '../operations/files.ts';
import { decision, defineOperation, onBranch, once } from '../operations/operation.ts';
import { auditedWrite, inStep, STEP_REFUSALS, type Write } from '../operations/step.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import type { Staging } from '../writer/staging.ts';
import { CONFIG_FILE, withBrainKey } from './domain/brain-keys.ts';

/** The text of the file as the caller may see it; null = there is none for them. */
export const readConfigFile = defineOperation({
  name: 'configFile',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject(onBranch),
  answer: decision(z.string().nullable(), READ_REFUSALS),
  async run(served, { branch }) {
    const state = await seen(served, branch, null);
    if (!state.ok) return state;
    const { view, rows, state: of } = state.value;
    const file = rows.mayRead(CONFIG_FILE) ? await view.read(CONFIG_FILE) : null;
    return allow(file === null ? null : (shownFile(rows, of, file)?.text ?? null));
  },
});

const KEY_REFUSALS = [...STEP_REFUSALS, 'E_CONFIG_FILE', 'E_CONFLICT', 'E_QUOTA'] as const;
const KeyQuestion = z.strictObject({ ...onBranch, key: z.string(), value: z.json() });
type KeyQuestion = z.output<typeof KeyQuestion>;

export const setBrainKey = defineOperation({
  name: 'setBrainKey',
  effect: 'write',
  namesCommits: false,
  question: KeyQuestion,
  answer: once(z.strictObject({ changed: z.boolean() }), KEY_REFUSALS),
  run: (served, question) =>
    auditedWrite(served, CONFIG_FILE, () => {
      const write = { ...served, branch: question.branch };
      return inStep(write, (staging, writer) => setStaged(write, staging, writer, question));
    }),
});

function setStaged(
  write: Write,
  staging: Staging,
  { tree }: BranchWriter,
  { key, value }: KeyQuestion,
): Decision<Step<{ changed: boolean }>, 'E_CONFIG_FILE' | 'E_CONFLICT' | 'E_QUOTA'> {
  const { rows, context, brain, branch } = write;
  const present = rows.mayRead(CONFIG_FILE) ? (tree.read(CONFIG_FILE)?.text ?? null) : null;
  const shown = present !== null && rows.hides(CONFIG_FILE) ? rows.shown(CONFIG_FILE, present) : present;
  const next = withBrainKey(shown, key, value);
  if (!next.ok) return next;
  const { changed, text } = next.value;
  if (!changed) return allow({ value: { changed }, events: [] });
  const request = { path: CONFIG_FILE, content: Buffer.from(text, 'utf8'), ifMatch: null, rows, isExact: true };
  const outcome = staging.judge(request, context);
  if (!outcome.ok) return outcome;
  const resources = eventResources(brain.context, CONFIG_FILE);
  const told: NewEvent = {
    name: 'brain:config-changed',
    payload: { key, brain: brain.context.name, branch, by: context.actor, resources },
  };
  return allow({ value: { changed }, events: [told] });
}
