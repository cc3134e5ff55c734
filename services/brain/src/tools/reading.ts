/** Reading one file: where the call says, or from the top of the stack down. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { type FileView, readFile as readOf } from '../operations/files.ts';
import { type CallContext, resolveReads, type TargetWish } from './target.ts';

export interface ReadWish extends TargetWish {
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
export async function readFile(
  context: CallContext,
  path: string,
  wish: ReadWish,
): Promise<Decision<FoundFile, ReadRefusal | 'E_FILE_ABSENT' | 'E_NOT_TEXT'>> {
  let refused: Extract<Decision<FoundFile, ReadRefusal | 'E_FILE_ABSENT' | 'E_NOT_TEXT'>, { ok: false }> = deny(
    'E_FILE_ABSENT',
    { file: path },
  );
  for (const { ask, brain, branch } of await resolveReads(context, wish)) {
    const answer = await ask(readOf, { branch, path, at: wish.at ?? null });
    if (answer.ok) return allow({ view: answer.value, brain });
    if (answer.code !== 'E_FILE_ABSENT' || (isSilent(refused) && !isSilent(answer))) refused = answer;
    if (answer.code === 'E_NOT_TEXT') break;
  }
  return refused;
}

/** Says no more than that the file is not there. */
function isSilent({ code, details }: { code: string; details?: Record<string, unknown> | undefined }): boolean {
  return code === 'E_FILE_ABSENT' && details?.['candidates'] === undefined;
}
