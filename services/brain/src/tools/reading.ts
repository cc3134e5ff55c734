/** Reading one file: where the call says, or from the top of the stack down. */
import { allow, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { type FileView, readFile as readOf } from '../operations/files.ts';
import { type CallContext, resolveReads, type Target, type TargetWish } from './target.ts';

interface ReadWish extends TargetWish {
  readonly at?: string | undefined;
}

export interface FoundFile {
  readonly view: FileView;
  readonly brain: string;
}

/**
 * The first brain that has the file answers; what an earlier one refused, or which files it has instead, is shown when
 * none has it.
 */
export async function firstAnswer<Value, Code extends string>(
  targets: readonly Target[],
  ask: (target: Target) => Promise<Decision<Value, Code>>,
): Promise<Decision<{ readonly target: Target; readonly value: Value }, Code>> {
  let refused: Denial<Code> | null = null;
  for (const target of targets) {
    const answer = await ask(target);
    if (answer.ok) return allow({ target, value: answer.value });
    if (refused === null || answer.code !== 'E_FILE_ABSENT' || (isSilent(refused) && !isSilent(answer)))
      refused = answer;
    if (answer.code === 'E_NOT_TEXT') break;
  }
  if (refused === null) throw new Error('a session has no brain on its stack');
  return refused;
}

export async function readFile(
  context: CallContext,
  path: string,
  wish: ReadWish,
): Promise<Decision<FoundFile, ReadRefusal | 'E_FILE_ABSENT' | 'E_NOT_TEXT'>> {
  const answer = await firstAnswer(await resolveReads(context, wish), ({ ask, branch }) =>
    ask(readOf, { branch, path, at: wish.at ?? null }),
  );
  return answer.ok ? allow({ view: answer.value.value, brain: answer.value.target.brain }) : answer;
}

/** Says no more than that the file is not there. */
function isSilent({ code, details }: { code: string; details?: Record<string, unknown> | undefined }): boolean {
  return code === 'E_FILE_ABSENT' && details?.['candidates'] === undefined;
}
