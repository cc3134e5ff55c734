/** Several files of a branch written in one step, for a service and once under its reference. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { decision, defineOperation, list, noteDenial, onBranch } from '../operations/operation.ts';
import { inStep, STEP_REFUSALS, type Write } from '../operations/step.ts';
import type { Step } from '../writer/branch-writer.ts';
import type { Staging } from '../writer/staging.ts';

const Written = z.strictObject({ path: z.string(), created: z.boolean(), resources: list(z.string()) });
export type Written = z.output<typeof Written>;

const NewFile = z.strictObject({ path: z.string(), content: z.string(), ifMatch: z.string().nullable() });
type NewFile = z.output<typeof NewFile>;

export const writeBatch = defineOperation({
  name: 'writeBatch',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, files: list(NewFile) }),
  answer: decision(list(Written), [...STEP_REFUSALS, 'E_CONFLICT', 'E_QUOTA']),
  async run(served, { branch, files }) {
    const write = { ...served, branch };
    const denied = files.find(({ path }) => !served.rows.mayWrite(path));
    try {
      // Denied whatever is there: no working tree is opened for it.
      if (denied !== undefined) throw new CallError(served.rows.writeDenial(denied.path) ?? 'RLS_DENIED');
      const writer = await served.brain.writer(branch);
      if (writer.ok) await writer.value.catchUp();
      return (await inStep(write, (staging) => staged(write, staging, files))).decision;
    } catch (error) {
      if (denied !== undefined) noteDenial(served, denied.path, 'write');
      throw error;
    }
  },
});

function staged(
  { brain, context, rows }: Write,
  staging: Staging,
  files: readonly NewFile[],
): Decision<Step<readonly Written[]>, 'E_CONFLICT' | 'E_QUOTA'> {
  const written: Written[] = [];
  for (const { path, content, ifMatch } of files) {
    const request = { path, content: Buffer.from(content, 'utf8'), ifMatch, rows, isExact: true };
    const judged = staging.judge(request, context);
    if (!judged.ok) return judged;
    const { file, created } = judged.value;
    written.push({ path: file, created, resources: eventResources(brain.context, file) });
  }
  return allow({ value: written, events: [] });
}
